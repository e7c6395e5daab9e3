/** Reads containerd's content store: the blobs of a repository, and what is being fetched. */
import { GrpcConnection } from '../grpc/index.js';
import { socketPathOfEndpoint } from './endpoint.js';
import { Content } from './gen/containerd-content.js';

export interface StoredBlob {
  readonly digest: string;
  readonly sizeBytes: number;
  /** Seconds since the epoch. */
  readonly createdSeconds: number;
}

export interface FetchedBlob {
  readonly digest: string;
  readonly doneBytes: number;
}

export interface ImageRepository {
  /** The registry: `docker.io`. */
  readonly domain: string;
  /** `library/busybox` */
  readonly path: string;
}

/** More than an image has layers; a store with more is not read to its end. */
const mostBlobs = 10_000;

export class ContainerdContent {
  readonly #connection: GrpcConnection;

  constructor(endpoint: string, namespace = 'k8s.io') {
    this.#connection = new GrpcConnection(socketPathOfEndpoint(endpoint), {
      'containerd-namespace': namespace,
    });
  }

  /** What is in the store of a repository. */
  blobsOf({ domain, path }: ImageRepository, signal: AbortSignal): Promise<readonly StoredBlob[]> {
    // containerd names the registry without its port; blobs that match any of the filters are listed.
    const hosts = new Set([domain, domain.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')]);
    const filters = [...hosts].map(
      (host) => `labels."containerd.io/distribution.source.${host}"~="(^|,)${path}(,|$)"`,
    );
    return this.#list(filters, signal);
  }

  /** Those of the blobs that are in the store, of whatever repository. */
  stored(digests: readonly string[], signal: AbortSignal): Promise<readonly StoredBlob[]> {
    return this.#list(
      digests.map((digest) => `digest==${JSON.stringify(digest)}`),
      signal,
    );
  }

  async #list(filters: readonly string[], signal: AbortSignal): Promise<readonly StoredBlob[]> {
    const blobs: StoredBlob[] = [];
    for await (const { info } of this.#connection.stream(
      Content.list,
      { filters: [...filters] },
      { signal },
    )) {
      for (const { digest, size, createdAt } of info)
        blobs.push({ digest, sizeBytes: size, createdSeconds: createdAt?.seconds ?? 0 });
      if (blobs.length >= mostBlobs) break;
    }
    return blobs;
  }

  /** The whole blob. */
  async read({ digest, sizeBytes }: StoredBlob, signal: AbortSignal): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    const request = { digest, offset: 0, size: sizeBytes };
    for await (const { data } of this.#connection.stream(Content.read, request, { signal })) {
      parts.push(data);
      bytes += data.length;
      if (bytes >= sizeBytes) break;
    }
    return Buffer.concat(parts);
  }

  /** The blobs that are being fetched, of all images. */
  async fetched(signal: AbortSignal): Promise<readonly FetchedBlob[]> {
    const { statuses } = await this.#connection.unary(Content.listStatuses, { filters: [] }, { signal });
    return statuses.slice(0, mostBlobs).flatMap(({ ref, offset }) => {
      // `layer-sha256:…`, `config-sha256:…`
      const digest = /sha(?:256|384|512):[0-9a-f]+$/.exec(ref)?.[0];
      return digest === undefined ? [] : [{ digest, doneBytes: offset }];
    });
  }

  close(): void {
    this.#connection.close();
  }
}
