/** The pod at a glance: where it stands and what would help, its life to scale, and what it was given and uses. */
import { useEffect, useState } from 'preact/hooks';
import { clockTime } from '../../src/timeline/clock-time.js';
import { explainPod } from '../../src/timeline/explain.js';
import { podLanes } from '../../src/timeline/pod-lanes.js';
import { podStart } from '../../src/timeline/start-phases.js';
import { Cell, useCell } from '../cell.js';
import type { LiveNode } from '../node/live-node.js';
import { Lanes } from '../parts/lanes.js';
import { LastLines } from '../parts/last-lines.js';
import { StepTable } from '../parts/steps.js';
import type { PodProps } from './pod.js';
import { PodResources } from './pod-resources.js';

export function PodOverview(props: PodProps) {
  const { node, uid } = props;
  usePodVersion(node, uid);
  const entries = node.entriesOf(uid);
  const nowMs = node.nowMs();
  if (entries.length === 0) return <p class="empty">The timeline has no entries of this pod.</p>;
  const lanes = podLanes(entries);
  return (
    <>
      <div class="columns">
        <Now {...props} />
        <LastLines {...props} />
      </div>
      <section class="sheet" aria-labelledby="life-heading">
        <h2 id="life-heading">Its life</h2>
        <Lanes lanes={lanes} nowMs={nowMs} readyMs={podStart(entries, nowMs)?.toMs} />
      </section>
      <PodResources {...props} />
      <section class="sheet" aria-labelledby="steps-heading">
        <h2 id="steps-heading">The last steps</h2>
        <StepTable steps={explainPod(entries, [], nowMs).steps.slice(-8)} />
      </section>
    </>
  );
}

/** Where it stands, in the words of `nodelet explain`. */
function Now({ node, uid }: PodProps) {
  const { phase, ready, containers, given, asked, waitsFor, inProgress, unblock } = explainPod(
    node.entriesOf(uid),
    node.nodeEntries(),
    node.nowMs(),
  );
  return (
    <section class="sheet" aria-labelledby="now-heading">
      <h2 id="now-heading">
        Now: {phase}, {ready ? 'ready' : 'not ready'}
      </h2>
      <dl class="facts">
        {containers.map(({ name, state, restarts }) => (
          <>
            <dt>{name}</dt>
            <dd>
              {state}
              {restarts === 0 ? '' : `, ${restarts} restart${restarts === 1 ? '' : 's'}`}
            </dd>
          </>
        ))}
        {given === undefined ? null : (
          <>
            <dt>Given</dt>
            <dd>{asked === undefined ? given : `${given}; asked for: ${asked}`}</dd>
          </>
        )}
        <dt>Waits for</dt>
        <dd>
          {waitsFor.length > 0 ? (
            <ul class="plain">
              {waitsFor.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          ) : inProgress === undefined ? (
            'nothing'
          ) : (
            `${inProgress.text}, since ${clockTime(inProgress.sinceMs)}`
          )}
        </dd>
        {unblock.length === 0 ? null : (
          <>
            <dt>What would help</dt>
            <dd>
              <ul class="plain">
                {unblock.map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** Draws anew with what is told of the pod, and each second for what lasts. */
export function usePodVersion(node: LiveNode, uid: string): void {
  const live = node.pod(uid);
  useCell(live?.version ?? nothing);
  const [, redraw] = useState({});
  useEffect(() => {
    const timer = setInterval(() => redraw({}), 1000);
    return () => clearInterval(timer);
  }, []);
}

const nothing = new Cell(0);
