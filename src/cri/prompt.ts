/** Runtimes whose unary calls end by their own deadline and signal, so that nobody needs to watch over them once more. */
import type { CriRuntime } from './runtime.js';

const prompt = new WeakSet<object>();

/** Says so of a runtime, and returns it. */
export function asPrompt<T extends CriRuntime>(runtime: T): T {
  prompt.add(runtime);
  return runtime;
}

export function isPrompt(runtime: CriRuntime): boolean {
  return prompt.has(runtime);
}
