/** What a node asks of the API, counted from the API server's audit log: the same for every kubelet. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Requests by what they ask for, as in `patch pods/status`. */
export type RequestCounts = ReadonlyMap<string, number>;

interface AuditEvent {
  readonly verb?: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

export function countRequests(log: string, username: string): RequestCounts {
  const counts = new Map<string, number>();
  for (const line of log.split('\n')) {
    if (line === '') continue;
    const event: AuditEvent = JSON.parse(line);
    // A watch is there before the pods are; it ends and begins by the clock, not by pods.
    if (event.user?.username !== username || event.verb === 'watch') continue;
    const { resource = 'path', subresource } = event.objectRef ?? {};
    const asked = `${event.verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
    counts.set(asked, (counts.get(asked) ?? 0) + 1);
  }
  return counts;
}

/** Those about pods: a node's lease and its own status cost the same whatever its pods do. */
export function podRequests(counts: RequestCounts): number {
  const others = /\b(leases|nodes|csinodes)\b/;
  return [...counts].reduce((sum, [asked, count]) => (others.test(asked) ? sum : sum + count), 0);
}

/** `patch pods/status 3.0, create events 4.0`, the most frequent first. */
export function formatPerPod(counts: RequestCounts, pods: number): string {
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([asked, count]) => `${asked} ${(count / pods).toFixed(1)}`).join(', ');
}

export class AuditLog {
  readonly #path: string;
  readonly #policy: string;

  constructor(dir: string) {
    this.#path = join(dir, 'audit.log');
    this.#policy = join(dir, 'audit-policy.json');
    const policy = {
      apiVersion: 'audit.k8s.io/v1',
      kind: 'Policy',
      omitStages: ['RequestReceived', 'ResponseStarted'],
      rules: [{ level: 'Metadata', userGroups: ['system:nodes'] }, { level: 'None' }],
    };
    writeFileSync(this.#policy, JSON.stringify(policy));
  }

  get apiServerArgs(): string[] {
    return [`--audit-policy-file=${this.#policy}`, `--audit-log-path=${this.#path}`];
  }

  /** A place in the log to count from. */
  mark(): number {
    return existsSync(this.#path) ? statSync(this.#path).size : 0;
  }

  /** What was asked since then; a line that is still being written is left out. */
  since(mark: number, username: string): RequestCounts {
    if (!existsSync(this.#path)) return new Map();
    const bytes = readFileSync(this.#path).subarray(mark);
    return countRequests(bytes.subarray(0, bytes.lastIndexOf('\n') + 1).toString('utf8'), username);
  }
}
