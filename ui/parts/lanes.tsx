/** A pod's life drawn to scale: one lane for the pod, its volumes, its sandbox and each container; a span tells its cause. */
import { useState } from 'preact/hooks';
import { clockTime } from '../../src/timeline/clock-time.js';
import type { LaneMark, LaneSpan, PodLane } from '../../src/timeline/pod-lanes.js';
import { spanText } from './amounts.js';

export interface LanesProps {
  readonly lanes: readonly PodLane[];
  readonly nowMs: number;
  /** When the pod was ready first; the start is shown up to there. */
  readonly readyMs: number | undefined;
}

type Scale = 'life' | 'start' | 'recent';

const recentMs = 120_000;
/** Work lies over the states that it happens in. */
const overKinds: ReadonlySet<string> = new Set(['pull', 'start', 'gate', 'stop']);
/** Below this part of the width a text would not be read. */
const leastTextPart = 0.05;
/** Marks that stand closer are told by the list of steps. */
const mostMarks = 60;

interface Chosen {
  readonly lane: string;
  readonly label: string;
  readonly because: string | undefined;
  readonly fromMs: number;
  readonly toMs: number | undefined;
}

export function Lanes({ lanes, nowMs, readyMs }: LanesProps) {
  const firstMs = Math.min(nowMs, ...lanes.flatMap(({ spans }) => spans.map(({ fromMs }) => fromMs)));
  const startEndMs = readyMs === undefined ? undefined : readyMs + (readyMs - firstMs) * 0.08 + 20;
  const [scale, setScale] = useState<Scale>(() => 'life');
  const [chosen, setChosen] = useState<Chosen | undefined>();
  const fromMs = scale === 'recent' ? Math.max(firstMs, nowMs - recentMs) : firstMs;
  const toMs = scale === 'start' ? (startEndMs ?? nowMs) : nowMs;
  const place: Placing = { fromMs, toMs, chosen, choose: setChosen };
  const scales: readonly { readonly key: Scale; readonly text: string }[] = [
    { key: 'life', text: 'Whole life' },
    ...(startEndMs === undefined ? [] : [{ key: 'start' as const, text: 'Start' }]),
    { key: 'recent', text: 'Last 2 minutes' },
  ];
  return (
    <div class="lanes">
      <div class="lanes-tools">
        {scales.map(({ key, text }) => (
          <button key={key} type="button" aria-pressed={scale === key} onClick={() => setScale(key)}>
            {text}
          </button>
        ))}
        <span class="soft">{spanText(toMs - fromMs)} to scale; choose a span for its cause</span>
      </div>
      {lanes.map((lane) => (
        <Lane key={`${lane.container} ${lane.name}`} lane={lane} {...place} />
      ))}
      <Axis fromMs={fromMs} toMs={toMs} />
      <p class="chosen" aria-live="polite">
        {chosen === undefined ? (
          <span class="soft">Choose a span or a mark.</span>
        ) : (
          <>
            <strong>
              {chosen.lane}: {chosen.label}
            </strong>
            {chosen.because === undefined ? '' : ` because ${chosen.because}`}
            <br />
            <span class="soft">{whenText(chosen, nowMs)}</span>
          </>
        )}
      </p>
    </div>
  );
}

function whenText({ fromMs, toMs }: Chosen, nowMs: number): string {
  if (toMs === fromMs) return `at ${clockTime(fromMs)}`;
  const took = spanText((toMs ?? nowMs) - fromMs);
  return `${clockTime(fromMs)} – ${toMs === undefined ? 'now' : clockTime(toMs)}, ${took}`;
}

interface Placing {
  readonly fromMs: number;
  readonly toMs: number;
  readonly chosen: Chosen | undefined;
  readonly choose: (chosen: Chosen) => void;
}

function Lane({ lane, ...place }: Placing & { readonly lane: PodLane }) {
  const { fromMs, toMs } = place;
  const spans = lane.spans.filter((span) => span.fromMs <= toMs && (span.toMs ?? toMs) >= fromMs);
  const marks = lane.marks.filter(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs).slice(-mostMarks);
  return (
    <div class="lane">
      <span class="lane-name" title={lane.name}>
        {lane.container ? lane.name : <em>{lane.name}</em>}
      </span>
      <div class="track">
        {spans.map((span) => (
          <Span key={`${span.kind} ${span.fromMs}`} lane={lane.name} span={span} {...place} />
        ))}
        {marks.map((mark) => (
          <Mark key={`${mark.timeMs} ${mark.label}`} lane={lane.name} mark={mark} {...place} />
        ))}
      </div>
    </div>
  );
}

function Span({
  lane,
  span,
  fromMs,
  toMs,
  chosen,
  choose,
}: Placing & { readonly lane: string; readonly span: LaneSpan }) {
  const all = Math.max(1, toMs - fromMs);
  const left = Math.max(0, (span.fromMs - fromMs) / all);
  const width = Math.min(1, ((span.toMs ?? toMs) - fromMs) / all) - left;
  const isNarrow = width < leastTextPart;
  const isOver = overKinds.has(span.kind);
  const isChosen = chosen?.lane === lane && chosen.fromMs === span.fromMs && chosen.label === span.label;
  return (
    <button
      type="button"
      class={`kind-${span.kind}${isOver ? ' over' : ''}${isNarrow ? ' narrow' : ''}`}
      style={{ left: `${left * 100}%`, width: `${Math.max(0, width) * 100}%` }}
      aria-label={`${lane}: ${span.label}, at ${clockTime(span.fromMs)}`}
      aria-pressed={isChosen}
      title={span.because === undefined ? span.label : `${span.label}, because ${span.because}`}
      onClick={() => choose({ lane, ...span })}
      onFocus={() => choose({ lane, ...span })}
    >
      {isNarrow || isOver ? '' : span.label}
    </button>
  );
}

function Mark({
  lane,
  mark,
  fromMs,
  toMs,
  choose,
}: Placing & { readonly lane: string; readonly mark: LaneMark }) {
  const all = Math.max(1, toMs - fromMs);
  const chosen = { lane, ...mark, fromMs: mark.timeMs, toMs: mark.timeMs };
  return (
    <button
      type="button"
      class={`mark${mark.problem ? ' problem' : ''}`}
      style={{ left: `${((mark.timeMs - fromMs) / all) * 100}%` }}
      aria-label={`${lane}: ${mark.label}, at ${clockTime(mark.timeMs)}`}
      title={mark.label}
      onClick={() => choose(chosen)}
      onFocus={() => choose(chosen)}
    />
  );
}

const ticks = 5;

function Axis({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }) {
  return (
    <div class="lane" aria-hidden="true">
      <span />
      <div class="axis">
        {Array.from({ length: ticks }, (_, at) => {
          const part = at / (ticks - 1);
          return (
            <span key={part} style={{ left: `${part * 100}%` }}>
              {at === 0 ? clockTime(fromMs) : `+${spanText((toMs - fromMs) * part)}`}
            </span>
          );
        })}
      </div>
    </div>
  );
}
