/** The name of the node: the one that was given, or the machine's own. */
import { hostname } from 'node:os';
import { StartFailure } from './start-failure.js';

/** An empty override means the machine's own name. Throws a StartFailure for a name that no node can have. */
export function chooseNodeName(override: string): string {
  const name = (override || hostname()).trim().toLowerCase();
  const isSubdomain = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(name);
  if (isSubdomain && name.length <= 253) return name;
  throw new StartFailure(
    `"${name}" cannot be the name of a node: use letters, digits, "-" and "."; give another with --hostname-override`,
  );
}
