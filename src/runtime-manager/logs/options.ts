/** The options of a log request, and the plain values that the reader needs. */

/** A client's request; the names are those of PodLogOptions. */
export interface LogRequest {
  readonly follow?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  /** Wall-clock milliseconds. */
  readonly sinceTimeMs?: number;
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
}

export interface PodLogOptions {
  readonly follow: boolean;
  /** Undefined: from the beginning. */
  readonly tailLines: number | undefined;
  /** Records strictly before this are dropped; wall-clock milliseconds. */
  readonly sinceMs: number | undefined;
  readonly timestamps: boolean;
  /** Over both streams, prefixes included. */
  readonly limitBytes: number | undefined;
}

/** Negative counts of lines or bytes mean no limit; the later of two start times counts. */
export function logOptions(request: LogRequest, nowMs: number): PodLogOptions {
  const { follow = false, tailLines, sinceSeconds, sinceTimeMs, timestamps = false, limitBytes } = request;
  const sinces = [
    ...(sinceSeconds === undefined ? [] : [nowMs - sinceSeconds * 1000]),
    ...(sinceTimeMs === undefined ? [] : [sinceTimeMs]),
  ];
  return {
    follow,
    tailLines: tailLines !== undefined && tailLines >= 0 ? tailLines : undefined,
    sinceMs: sinces.length === 0 ? undefined : Math.max(...sinces),
    timestamps,
    limitBytes: limitBytes !== undefined && limitBytes >= 0 ? limitBytes : undefined,
  };
}
