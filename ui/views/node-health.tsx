/** How the node's parts are: the kubelet's own checks, the runtime, the API, and the conditions that the cluster sees. */
import { useEffect, useState } from 'preact/hooks';
import type { NodeCondition } from '../../src/kube/types/node.js';
import { isEntry } from '../../src/timeline/entry.js';
import { lastOf } from '../../src/timeline/last-entry.js';
import { useCell } from '../cell.js';
import type { About, ViewProps } from '../frame.js';
import { askNode, Refused } from '../node/ask.js';
import { Status } from '../parts/status.js';

const askMs = 5_000;

interface Check {
  readonly name: string;
  readonly passed: boolean;
}

export function NodeHealth({
  conditions,
  node,
  about,
}: ViewProps & { readonly conditions: readonly NodeCondition[] }) {
  const checks = useChecks();
  useCell(node.nodeVersion);
  const entries = node.nodeEntries();
  const runtime = lastOf(entries, 'runtime.state');
  const api = entries.findLast((entry) => isEntry(entry, 'status.unreachable', 'status.reachable'));
  return (
    <section class="sheet" aria-labelledby="health-heading">
      <h2 id="health-heading">Health</h2>
      <dl class="facts">
        <dt>Runtime</dt>
        <dd>
          {runtime === undefined ? (
            <SilentRuntime conditions={conditions} />
          ) : (
            <Status text={runtime.message} tone={runtime.data.ready ? 'good' : 'bad'} />
          )}
        </dd>
        <dt>API</dt>
        <dd>
          {api === undefined ? (
            silentApi(about)
          ) : (
            <Status text={api.message} tone={api.what === 'status.reachable' ? 'good' : 'bad'} />
          )}
        </dd>
        {checks.map(({ name, passed }) => (
          <>
            <dt>Check {name}</dt>
            <dd>
              <Status text={passed ? 'ok' : 'failed'} tone={passed ? 'good' : 'bad'} />
            </dd>
          </>
        ))}
        {conditions.map(({ type, status, message }) => (
          <>
            <dt>{type}</dt>
            <dd>
              <Status text={status} tone={isGood(type, status) ? 'good' : 'bad'} />{' '}
              <span class="soft">{message}</span>
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}

/** A runtime that was well all the time left no entry; a node is not Ready without its runtime. */
function SilentRuntime({ conditions }: { readonly conditions: readonly NodeCondition[] }) {
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined) return <>unknown</>;
  return ready.status === 'True' ? (
    <Status text="ready" tone="good" />
  ) : (
    <Status text={ready.message ?? 'the node is not ready'} tone="bad" />
  );
}

function silentApi(about: About | undefined): string {
  switch (about?.kind) {
    case 'run':
      return 'a run asks no API server for its pods';
    case 'bare node':
      return 'is in the same process';
    case 'agent':
    case undefined:
      return 'no failure was recorded';
  }
}

/** Ready is good when it is so; every other condition names something bad. */
function isGood(type: string, status: string): boolean {
  return type === 'Ready' ? status === 'True' : status === 'False';
}

function useChecks(): readonly Check[] {
  const [checks, setChecks] = useState<readonly Check[]>([]);
  useEffect(() => {
    const over = new AbortController();
    const ask = async (): Promise<void> => {
      if (document.visibilityState === 'hidden') return;
      try {
        setChecks(checksOf(await (await askNode('/healthz?verbose', over.signal)).text()));
      } catch (error) {
        if (over.signal.aborted) return;
        // The failure of a check is its answer.
        setChecks(error instanceof Refused ? checksOf(error.message) : []);
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), askMs);
    return () => {
      clearInterval(timer);
      over.abort();
    };
  }, []);
  return checks;
}

/** Lines such as `[+]ping ok` and `[-]log failed: reason withheld`. */
function checksOf(text: string): Check[] {
  return text.split('\n').flatMap((line): Check[] => {
    const [, sign, name = ''] = /^\[([+-])\](\S+) /.exec(line) ?? [];
    return sign === undefined ? [] : [{ name, passed: sign === '+' }];
  });
}
