/** A pod's life drawn to scale: one lane for the pod, its volumes, its sandbox and each container; a span tells its cause. */
import { useState } from 'preact/hooks';
import { clockTime } from '../../src/timeline/clock-time.js';
import type { PodLane } from '../../src/timeline/pod-lanes.js';
import { spanText } from './amounts.js';
import { Lane, whenText } from './lane.js';
import { laneItems } from './lane-items.js';

export interface LanesProps {
  readonly lanes: readonly PodLane[];
  readonly nowMs: number;
  /** When the pod was ready first; the start is shown up to there. */
  readonly readyMs: number | undefined;
}

type Scale = 'life' | 'start' | 'recent';

const recentMs = 120_000;

interface Chosen {
  readonly lane: string;
  readonly item: string;
}

/** A container may be called as the pod's own lanes are. */
const keyOf = ({ container, name }: PodLane): string => `${container ? 'container' : 'pod'} ${name}`;

export function Lanes({ lanes, nowMs, readyMs }: LanesProps) {
  const firstMs = Math.min(nowMs, ...lanes.flatMap(({ spans }) => spans.map(({ fromMs }) => fromMs)));
  const startEndMs = readyMs === undefined ? undefined : readyMs + (readyMs - firstMs) * 0.08 + 20;
  const [scale, setScale] = useState<Scale>('life');
  const [chosen, setChosen] = useState<Chosen | undefined>();
  const fromMs = scale === 'recent' ? Math.max(firstMs, nowMs - recentMs) : firstMs;
  const toMs = scale === 'start' ? (startEndMs ?? nowMs) : nowMs;
  const scales: readonly { readonly key: Scale; readonly text: string }[] = [
    { key: 'life', text: 'Whole life' },
    ...(startEndMs === undefined ? [] : [{ key: 'start' as const, text: 'Start' }]),
    { key: 'recent', text: 'Last 2 minutes' },
  ];
  const drawn = lanes.map((lane) => ({ lane, key: keyOf(lane), items: laneItems(lane, fromMs, toMs) }));
  const lane = drawn.find(({ key }) => key === chosen?.lane);
  const item = lane?.items.find(({ key }) => key === chosen?.item);
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
      {drawn.map((one, at) => (
        <Lane
          key={one.key}
          id={`lane-${at}`}
          lane={one.lane}
          items={one.items}
          chosen={one.key === chosen?.lane ? chosen.item : undefined}
          choose={(key) => setChosen({ lane: one.key, item: key })}
          nowMs={nowMs}
        />
      ))}
      <Axis fromMs={fromMs} toMs={toMs} />
      {/* No live region: the lane tells the same of what is chosen in it. */}
      <p class="chosen">
        {lane === undefined || item === undefined ? (
          <span class="soft">Choose a span or a mark, or go to a lane and use the arrow keys.</span>
        ) : (
          <>
            <strong>
              {lane.lane.name}: {item.label}
            </strong>
            {item.because === undefined ? '' : ` because ${item.because}`}
            <br />
            <span class="soft">{whenText(item, nowMs)}</span>
          </>
        )}
      </p>
    </div>
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
