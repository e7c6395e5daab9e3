/** The tracer of an agent whose tracing is off: it keeps nothing, and passes on the traces of its callers. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type CallerTrace, traceHeaders } from './trace-context.js';
import type { Span, Tracer } from './tracer.js';

const noSpan: Span = { set() {}, event() {}, fail() {}, end() {} };

class ForwardedSpan implements Span {
  readonly caller: CallerTrace;
  isEnded = false;

  constructor(caller: CallerTrace) {
    this.caller = caller;
  }

  set(): void {}
  event(): void {}
  fail(): void {}

  end(): void {
    this.isEnded = true;
  }
}

export function forwardingTracer(): Tracer {
  // Made with the first caller that brings a trace: on older Nodes it makes every promise of the process dearer.
  let storage: AsyncLocalStorage<ForwardedSpan> | undefined;
  return {
    isRecording: false,
    begin: ({ caller }) => (caller === undefined ? noSpan : new ForwardedSpan(caller)),
    within(span, work) {
      if (!(span instanceof ForwardedSpan)) return work();
      storage ??= new AsyncLocalStorage();
      return storage.run(span, work);
    },
    headers() {
      const span = storage?.getStore();
      return span === undefined || span.isEnded ? undefined : traceHeaders(span.caller);
    },
  };
}
