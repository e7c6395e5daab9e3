/** The port to who gives Services their addresses and node ports. */
import type { Service, ServicePort } from '../../../kube/types/index.js';

/** Which addresses and node ports Services have; told anew what is stored before each question. */
export interface ServiceAllocator {
  rebuild(services: readonly Service[]): unknown;
  /** What the changed or new Service gets; nothing else of it changes. */
  update(
    before: Service | undefined,
    after: Service,
  ):
    | { readonly ok: true; readonly assigned: AllocatedService }
    | {
        readonly ok: false;
        readonly problem: { readonly reason: string; readonly field: string; readonly message: string };
      };
}

export interface AllocatedService {
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly ports?: readonly ServicePort[];
}
