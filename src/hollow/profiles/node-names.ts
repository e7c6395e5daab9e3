/** Names of hollow nodes from a template: `rack1-{index}` gives rack1-0, rack1-1 and so on. */
import { dnsSubdomain } from '../../kube/index.js';

const place = '{index}';

/** What is wrong with a template; undefined when it is right. */
export function templateProblem(template: string): string | undefined {
  const parts = template.split(place);
  if (parts.length !== 2) return `must have ${place} once, where the number of the node goes`;
  const problem = dnsSubdomain(parts.join('0'));
  return problem === undefined ? undefined : `makes no names of nodes: a name ${problem}`;
}

/** So many names that are not taken, by ascending number. */
export function namesOf(template: string, count: number, isTaken: (name: string) => boolean): string[] {
  const names: string[] = [];
  for (let index = 0; names.length < count; index++) {
    const name = template.replace(place, String(index));
    if (!isTaken(name)) names.push(name);
  }
  return names;
}
