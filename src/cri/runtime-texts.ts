/** Decisions by the error text of a container runtime, where it has no code. No other file reads such texts. */
import { type CriError, isUnimplemented } from './errors.js';

/**
 * Failures that a runtime marks by the first word of the error's text, as `pkg/errors` of cri-api 0.36
 * defines it, and containerd and CRI-O do. The gRPC code of such an error is Unknown.
 */
export const failureMarks = [
  'RegistryUnavailable',
  'SignatureValidationFailed',
  'ImageVolumeMountFailed',
] as const;
export type FailureMark = (typeof failureMarks)[number];

/** What containerd 2 puts before the mark of an image volume. */
const beforeImageVolumeMark = 'failed to mount image volume: ';

/** Whether the mark of an image volume stands behind other words. */
export function hasPrefixedMark(text: string): boolean {
  return text.startsWith(beforeImageVolumeMark) && failureMark(text) !== undefined;
}

/** Undefined for a failure without a mark. */
export function failureMark(text: string): FailureMark | undefined {
  const marked = text.startsWith(beforeImageVolumeMark) ? text.slice(beforeImageVolumeMark.length) : text;
  return failureMarks.find((mark) => marked.startsWith(mark));
}

/** Whether the runtime does not have the call. CRI-O said `not implemented yet` with the code Unknown. */
export function isNotImplemented(error: CriError): boolean {
  return (
    isUnimplemented(error) || (error.codeName === 'Unknown' && error.details.includes('not implemented'))
  );
}

/**
 * Whether the runtime keeps the name for another sandbox or container, or for one that it never finished.
 * containerd: `name "x" is reserved for "id"`; CRI-O: `error reserving ctr name x for id y: name is reserved`.
 */
export function isNameReserved(error: CriError): boolean {
  return /\bname (?:"[^"]*" )?is reserved\b/.test(error.details);
}
