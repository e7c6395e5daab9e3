/** "Why is this slow": where the time of the last starts went, for each pod and for all of them together. */
import { useEffect, useState } from 'preact/hooks';
import { clockTime } from '../../src/timeline/clock-time.js';
import {
  type PodStart,
  podStart,
  quantile,
  type StartPhase,
  startPhases,
  startPhaseTexts,
} from '../../src/timeline/start-phases.js';
import type { ViewProps } from '../frame.js';
import { spanText } from '../parts/amounts.js';
import { Scroll } from '../parts/scroll.js';
import { hrefOf } from '../route.js';

const shownStarts = 100;
const redrawMs = 2_000;

export function StartsView({ node }: ViewProps) {
  const [, redraw] = useState({});
  useEffect(() => {
    const timer = setInterval(() => redraw({}), redrawMs);
    return () => clearInterval(timer);
  }, []);
  const nowMs = node.nowMs();
  const starts = node
    .knownUids()
    .flatMap((uid) => podStart(node.entriesOf(uid), nowMs) ?? [])
    .sort((a, b) => b.fromMs - a.fromMs)
    .slice(0, shownStarts);
  const done = starts.filter(({ toMs }) => toMs !== undefined);
  if (starts.length === 0)
    return (
      <>
        <h1>Why is this slow</h1>
        <p class="empty">No start of a pod is known.</p>
      </>
    );
  return (
    <>
      <div class="heading">
        <h1>Why is this slow</h1>
        <p>{verdict(done)}</p>
      </div>
      <section class="sheet" aria-labelledby="phases-heading">
        <h2 id="phases-heading">All starts, by phase</h2>
        <PhaseTable done={done} />
      </section>
      <section class="sheet" aria-labelledby="starts-heading">
        <h2 id="starts-heading">The last {starts.length} starts</h2>
        <StartTable starts={starts} />
      </section>
    </>
  );
}

/** The phase that took most of the median start. */
function verdict(done: readonly PodStart[]): string {
  const totalMs = done.reduce((sum, one) => sum + one.totalMs, 0);
  if (totalMs === 0) return 'No pod has become ready yet.';
  const shares = startPhases.map((phase) => ({
    phase,
    part: done.reduce((sum, one) => sum + one.phasesMs[phase], 0) / totalMs,
  }));
  const [most] = shares.sort((a, b) => b.part - a.part);
  if (most === undefined) return '';
  return `Most of the time goes to ${startPhaseTexts[most.phase]}: ${(most.part * 100).toFixed(0)} % of ${done.length} start${done.length === 1 ? '' : 's'}.`;
}

function Key({ phase }: { readonly phase: StartPhase }) {
  return <span class={`key phase-${phase}`} aria-hidden="true" />;
}

function PhaseTable({ done }: { readonly done: readonly PodStart[] }) {
  const row = (values: readonly number[]) => (
    <>
      <td class="number">{timeOr(quantile(values, 0.5))}</td>
      <td class="number">{timeOr(quantile(values, 0.99))}</td>
      <td class="number">{timeOr(quantile(values, 1))}</td>
    </>
  );
  return (
    <Scroll label="Phases of all starts">
      <table>
        <thead>
          <tr>
            <th scope="col">Phase</th>
            <th scope="col" class="number">
              p50
            </th>
            <th scope="col" class="number">
              p99
            </th>
            <th scope="col" class="number">
              Longest
            </th>
          </tr>
        </thead>
        <tbody>
          {startPhases.map((phase) => (
            <tr key={phase}>
              <th scope="row">
                <Key phase={phase} />
                {startPhaseTexts[phase]}
              </th>
              {row(done.map(({ phasesMs }) => phasesMs[phase]))}
            </tr>
          ))}
          <tr>
            <th scope="row">
              <strong>from the first sight of the pod to Ready</strong>
            </th>
            {row(done.map(({ totalMs }) => totalMs))}
          </tr>
        </tbody>
      </table>
    </Scroll>
  );
}

function timeOr(ms: number | undefined): string {
  return ms === undefined ? '–' : spanText(ms);
}

function StartTable({ starts }: { readonly starts: readonly PodStart[] }) {
  const longestMs = Math.max(1, ...starts.map(({ totalMs }) => totalMs));
  return (
    <Scroll label="The last starts">
      <table>
        <thead>
          <tr>
            <th scope="col">Pod</th>
            <th scope="col">Seen at</th>
            <th scope="col" class="number">
              Took
            </th>
            <th scope="col">Where it went</th>
          </tr>
        </thead>
        <tbody>
          {starts.map((start) => (
            <tr key={start.pod.uid}>
              <th scope="row">
                <a href={hrefOf({ view: 'pod', uid: start.pod.uid, tab: 'overview' })}>{start.pod.name}</a>
              </th>
              <td>{clockTime(start.fromMs)}</td>
              <td class="number">
                {spanText(start.totalMs)}
                {start.toMs === undefined ? ' …' : ''}
              </td>
              <td>
                <Share start={start} part={start.totalMs / longestMs} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Share({ start, part }: { readonly start: PodStart; readonly part: number }) {
  const phases = startPhases.filter((phase) => start.phasesMs[phase] > 0);
  const words = phases
    .map((phase) => `${startPhaseTexts[phase]} ${spanText(start.phasesMs[phase])}`)
    .join(', ');
  return (
    <div
      role="img"
      aria-label={words}
      title={words}
      class="share"
      style={{ width: `${Math.max(2, part * 100)}%` }}
    >
      {phases.map((phase) => (
        <span
          key={phase}
          class={`phase-${phase}`}
          style={{ width: `${(start.phasesMs[phase] / Math.max(1, start.totalMs)) * 100}%` }}
        />
      ))}
    </div>
  );
}
