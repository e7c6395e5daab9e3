/** What code that is traced sees: spans around its work, and the headers for whom it calls. */
import type { CallerTrace, TraceHeaders } from './trace-context.js';

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface TracedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

export interface SpanInit {
  readonly name: string;
  /** @default 'internal' */
  readonly kind?: 'internal' | 'server' | 'client';
  readonly attributes?: Attributes;
  /** The request that is served; the span is below its sender's. */
  readonly caller?: CallerTrace | undefined;
  /** Begins a trace of its own; a caller is only linked. */
  readonly isRoot?: boolean;
  /** The pod whose step it is. While the pod starts, the span belongs to the trace of its start. */
  readonly pod?: TracedPod;
  /** Tells others how the pod is, beside its steps: the first one after the start still belongs to it. */
  readonly isReport?: boolean;
}

export interface Span {
  set(attributes: Attributes): void;
  event(name: string, attributes?: Attributes): void;
  /** The work has failed. */
  fail(message: string): void;
  /** Only the first call counts. */
  end(): void;
}

export interface Tracer {
  /** False: spans are not kept, and none need be begun but those of callers. */
  readonly isRecording: boolean;
  begin(init: SpanInit): Span;
  /** Runs the work within the span: until the span ends, all that the work begins is below it. */
  within<T>(span: Span, work: () => T): T;
  /** The headers for a call that is made now; undefined outside of any span. */
  headers(): TraceHeaders | undefined;
}

/** Runs the work within a span of its own, which a rejection fails. */
export async function traced<T>(
  tracer: Tracer,
  init: SpanInit,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.begin(init);
  try {
    return await tracer.within(span, () => work(span));
  } catch (error) {
    span.fail(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The attributes by which spans name a pod. */
export function podAttributes({ uid, name, namespace }: TracedPod): Attributes {
  return {
    'k8s.pod.uid': uid,
    'k8s.pod': `${namespace}/${name}`,
    'k8s.pod.name': name,
    'k8s.namespace.name': namespace,
  };
}
