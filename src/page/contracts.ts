/** How the page reaches the node that it shows. */
import type { ConnectionOptions } from 'node:tls';

/** Where the node's API is now, and what proves who asks. */
export type NodeEndpoint =
  | { readonly kind: 'socket'; readonly socketPath: string }
  | {
      readonly kind: 'https';
      /** Its path comes before those of the API. */
      readonly url: URL;
      readonly headers: Readonly<Record<string, string>>;
      readonly tls: ConnectionOptions;
      /** The API server that the node is reached through, which takes terminals for its pods. */
      readonly apiServer?: URL;
    };

export interface NodeTarget {
  /** For people: `run default`, `https://node-1:10250`. */
  readonly name: string;
  readonly kind: 'run' | 'agent' | 'bare node';
  /** Asked for each request, as a node may come back at another place; rejects while there is none. */
  endpoint(): Promise<NodeEndpoint>;
}
