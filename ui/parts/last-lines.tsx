/** The last lines of the log of each container that has ended: what people look for first. */
import { useEffect, useState } from 'preact/hooks';
import { type LastExit, lastExits, lastLinesQuery, lastLogLines } from '../../src/cli/print/log-lines.js';
import { askNode } from '../node/ask.js';
import { hrefOf } from '../route.js';
import type { PodProps } from '../views/pod.js';

export function LastLines({ node, uid }: PodProps) {
  const pod = node.pod(uid)?.pod;
  const { initContainerStatuses = [], containerStatuses = [] } = pod?.status ?? {};
  const exits = lastExits([...initContainerStatuses, ...containerStatuses]).filter(
    ({ exitCode }, _, all) => exitCode !== 0 || all.length === 1,
  );
  if (pod === undefined || exits.length === 0) return null;
  const restarts = [...initContainerStatuses, ...containerStatuses].reduce(
    (sum, one) => sum + one.restartCount,
    0,
  );
  const { namespace, name } = pod.metadata;
  return (
    <section class="sheet" aria-labelledby="exits-heading">
      <h2 id="exits-heading">What it said last</h2>
      {exits.map((exit) => (
        <Exit key={exit.container} exit={exit} uid={uid} place={`${namespace}/${name}`} moment={restarts} />
      ))}
    </section>
  );
}

interface ExitProps {
  readonly exit: LastExit;
  readonly uid: string;
  /** `namespace/name` */
  readonly place: string;
  /** Changes with each restart. */
  readonly moment: number;
}

function Exit({ exit: { container, exitCode, previous }, uid, place, moment }: ExitProps) {
  const [said, setSaid] = useState<readonly string[] | string>('');
  useEffect(() => {
    const over = new AbortController();
    askNode(`/containerLogs/${place}/${container}?${lastLinesQuery(previous)}`, over.signal)
      .then((answer) => answer.text())
      .then((text) => setSaid(lastLogLines(text)))
      .catch((error: unknown) => {
        if (!over.signal.aborted) setSaid(error instanceof Error ? error.message : String(error));
      });
    return () => over.abort();
  }, [place, container, previous, exitCode, moment]);
  return (
    <>
      <h3>
        {container} ended with {exitCode}
        {previous ? ', and runs again' : ''}
      </h3>
      {typeof said === 'string' ? (
        <p class="soft">{said}</p>
      ) : said.length === 0 ? (
        <p class="soft">It printed nothing.</p>
      ) : (
        <pre>{said.join('\n')}</pre>
      )}
      <a href={hrefOf({ view: 'pod', uid, tab: 'logs' })}>All of its log</a>
    </>
  );
}
