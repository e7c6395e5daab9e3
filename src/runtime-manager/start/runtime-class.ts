/** Finds the runtime handler of a pod's runtime class. */
import { errorText } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';

/** The source of runtime classes: the API server of a cluster. */
export interface RuntimeClassSource {
  /** The handler of the class; undefined when the class does not exist. */
  handler(name: string): Promise<string | undefined>;
}

/** Without a source, as on a node without an API server, every pod gets the default handler. */
export function runtimeHandlerOf(source: RuntimeClassSource | undefined): (pod: Pod) => Promise<string> {
  return async ({ spec: { runtimeClassName = '' } }) => {
    if (source === undefined || runtimeClassName === '') return '';
    let handler: string | undefined;
    try {
      handler = await source.handler(runtimeClassName);
    } catch (cause) {
      throw new Error(`failed to lookup RuntimeClass ${runtimeClassName}: ${errorText(cause)}`, { cause });
    }
    if (handler === undefined) throw new Error(`runtimeclass.node.k8s.io "${runtimeClassName}" not found`);
    return handler;
  };
}
