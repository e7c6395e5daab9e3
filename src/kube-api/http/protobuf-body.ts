/** Reads an object in protobuf, as typed clients such as `kubectl create` send it, into what JSON would say. */
import { errorText } from '../../async/index.js';
import { agentLimits } from '../../kube/manifests/document-limits.js';
import { parseJson } from '../../kube/manifests/json-text.js';
import { ApiError } from '../../kube-client/api-error.js';
import type { Enveloped, KubeMessage } from '../../kube-protobuf/index.js';

type Codec = typeof import('../../kube-protobuf/index.js');

/** Loads the tables of fields when the first such body comes: most requests are JSON. */
export async function readProtobuf(bytes: Buffer): Promise<unknown> {
  const [codec, { objectMessage }] = await Promise.all([
    import('../../kube-protobuf/index.js'),
    import('../../kube-protobuf/objects.js'),
  ]);
  const enveloped = opened(codec, bytes);
  const { apiVersion, kind } = enveloped;
  const message = objectMessage(apiVersion, kind);
  if (message === undefined)
    throw new ApiError({
      code: 415,
      message: `objects of type ${JSON.stringify(`${apiVersion}, Kind=${kind}`.slice(0, 200))} are not read in protobuf here; send JSON, with the media type application/json`,
    });
  return decoded(message, enveloped);
}

function opened({ openEnvelope }: Codec, bytes: Buffer): Enveloped {
  try {
    return openEnvelope(bytes);
  } catch (error) {
    throw unreadable(error);
  }
}

function decoded(message: KubeMessage<object>, { apiVersion, kind, bytes }: Enveloped): unknown {
  try {
    // A message may hold JSON; a second reading puts all of it under the limits of a body in JSON.
    return parseJson(JSON.stringify({ apiVersion, kind, ...message.decode(bytes) }), agentLimits);
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(error: unknown): ApiError {
  return new ApiError({ code: 400, message: `the body of the request cannot be read: ${errorText(error)}` });
}
