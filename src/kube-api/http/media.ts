/** The form of a response that a client asks for: whole objects, their metadata, or a table. */
import type { ApiRequest } from './contracts.js';

export type ResponseForm = 'object' | 'table' | 'metadata';

export interface RequestedMedia {
  readonly form: ResponseForm;
  /** The type and parameters that the response names. */
  readonly contentType: string;
}

const longestAccept = 4096;

/** The first of the client's types that this server can give; undefined when it can give none. */
export function requestedMedia(headers: ApiRequest['headers']): RequestedMedia | undefined {
  const accept = String(headers.accept ?? '').slice(0, longestAccept);
  if (accept.trim() === '') return { form: 'object', contentType: 'application/json' };
  for (const item of accept.split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim());
    if (!['application/json', '*/*', 'application/*'].includes(type)) continue;
    const values = new Map(
      parameters.map((one): [string, string] => [one.split('=')[0] ?? '', one.split('=')[1] ?? '']),
    );
    const as = values.get('as');
    if (as === undefined) return { form: 'object', contentType: 'application/json' };
    if (values.get('g') !== 'meta.k8s.io' || values.get('v') !== 'v1') continue;
    const contentType = `application/json;as=${as};g=meta.k8s.io;v=v1`;
    if (as === 'Table') return { form: 'table', contentType };
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList')
      return { form: 'metadata', contentType };
  }
  return undefined;
}
