/** What a reader of a container's log may ask for, and the plain values that reading needs. */

/** As a client of the node asks; the names are those of PodLogOptions. */
export interface LogRequest {
  readonly follow?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  /** Wall-clock milliseconds. */
  readonly sinceTimeMs?: number;
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
}

export interface LogOptions {
  readonly follow: boolean;
  /** Undefined: from the start. */
  readonly tailLines: number | undefined;
  /** Records strictly before it are dropped; wall-clock milliseconds. */
  readonly sinceMs: number | undefined;
  readonly timestamps: boolean;
  /** Over both streams, prefixes included. */
  readonly limitBytes: number | undefined;
}

/** Negative numbers of lines and bytes set no limit; of two starting times the later one counts. */
export function logOptions(request: LogRequest, nowMs: number): LogOptions {
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
