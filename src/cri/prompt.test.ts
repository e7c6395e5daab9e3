import { describe, expect, it } from 'vitest';
import { systemClock } from '../async/index.js';
import { checkedCri } from './checked.js';
import { asPrompt, isPrompt } from './prompt.js';
import type { CriRuntime } from './runtime.js';

describe('runtimes that end their calls in time', () => {
  // Only the one method is called.
  const stuck = { version: () => new Promise(() => {}) } as unknown as CriRuntime;
  const runtime = new Proxy(stuck, { get: (target, name) => Reflect.get(target, name) ?? (() => {}) });

  it('a runtime that does not say so has its calls ended, and the result says so', async () => {
    const checked = checkedCri(runtime, { requestTimeoutMs: 20, clock: systemClock });
    await expect(checked.version({})).rejects.toThrow('context deadline exceeded');
    expect(isPrompt(runtime)).toBe(false);
    expect(isPrompt(checked)).toBe(true);
  });

  it('one that says so is given the deadline and trusted with it', async () => {
    let given: unknown;
    const prompt = asPrompt(
      new Proxy(runtime, {
        get: (target, name) =>
          name === 'version'
            ? async (_request: object, options: object) => {
                given = options;
                return {};
              }
            : Reflect.get(target, name),
      }),
    );
    const checked = checkedCri(prompt, { requestTimeoutMs: 20, clock: systemClock });
    await checked.version({}).catch(() => undefined);
    expect(given).toEqual({ timeoutMs: 20, signal: undefined });
  });
});
