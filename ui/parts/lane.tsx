/** One lane of a pod's life: a list of spans and marks to scale, which is one stop of the keyboard and one target for a finger. */
import { useRef } from 'preact/hooks';
import { clockTime } from '../../src/timeline/clock-time.js';
import type { PodLane } from '../../src/timeline/pod-lanes.js';
import { spanText } from './amounts.js';
import { boxAt, itemByKey, type LaneItem } from './lane-items.js';

export interface LaneProps {
  readonly lane: PodLane;
  /** Of its elements. */
  readonly id: string;
  readonly items: readonly LaneItem[];
  /** The key of the item that is chosen, if it is one of this lane. */
  readonly chosen: string | undefined;
  readonly choose: (key: string) => void;
  readonly nowMs: number;
}

/** Work lies over the states that it happens in. */
const overKinds: ReadonlySet<string> = new Set(['pull', 'start', 'gate', 'stop']);
/** Below this part of the width a text would not be read. */
const leastTextPart = 0.05;

export function Lane({ lane, id, items, chosen, choose, nowMs }: LaneProps) {
  const track = useRef<HTMLDivElement>(null);
  const at = items.findIndex(({ key }) => key === chosen);
  const chooseAt = (next: number | undefined): void => {
    const item = next === undefined ? undefined : items[next];
    if (item !== undefined) choose(item.key);
  };
  const onFocus = ({ currentTarget }: FocusEvent): void => {
    // A pointer says itself what it means.
    const byKeyboard = currentTarget instanceof Element && currentTarget.matches(':focus-visible');
    if (at < 0 && byKeyboard) chooseAt(items.length - 1);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = itemByKey(event.key, at < 0 ? items.length : at, items.length);
    if (next === undefined) return;
    event.preventDefault();
    chooseAt(next);
  };
  const onClick = ({ clientX, clientY, target }: MouseEvent): void => {
    const boxes = [...(track.current?.children ?? [])].map((item) => item.getBoundingClientRect());
    // What presses without a pointer has no place, and names the item itself.
    const pressed = target instanceof Element ? [...(track.current?.children ?? [])].indexOf(target) : -1;
    const named = clientX === 0 && clientY === 0 ? pressed : -1;
    chooseAt(named >= 0 ? named : boxAt(boxes, clientX, clientY));
  };
  return (
    <div class="lane">
      <span class="lane-name" title={lane.name} id={`${id}-name`}>
        {lane.container ? lane.name : <em>{lane.name}</em>}
      </span>
      {items.length === 0 ? (
        <div class="track" />
      ) : (
        <div
          class="track"
          role="listbox"
          tabIndex={0}
          ref={track}
          aria-labelledby={`${id}-name`}
          aria-orientation="horizontal"
          aria-activedescendant={at < 0 ? undefined : `${id}-${at}`}
          onFocus={onFocus}
          onKeyDown={onKeyDown}
          onClick={onClick}
        >
          {items.map((item, index) => (
            <Item key={item.key} id={`${id}-${index}`} item={item} isChosen={index === at} nowMs={nowMs} />
          ))}
        </div>
      )}
    </div>
  );
}

interface ItemProps {
  readonly id: string;
  readonly item: LaneItem;
  readonly isChosen: boolean;
  readonly nowMs: number;
}

function Item({ id, item, isChosen, nowMs }: ItemProps) {
  const { kind, problem, label, because, leftPart, widthPart } = item;
  const isMark = kind === 'mark';
  const isNarrow = widthPart < leastTextPart;
  const isOver = overKinds.has(kind);
  const classes = isMark
    ? ['mark', problem && 'problem']
    : [`kind-${kind}`, isOver && 'over', isNarrow && 'narrow'];
  const words = because === undefined ? label : `${label}, because ${because}`;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names the chosen option (aria-activedescendant)
    <div
      role="option"
      id={id}
      class={classes.filter(Boolean).join(' ')}
      style={{ left: `${leftPart * 100}%`, ...(isMark ? {} : { width: `${widthPart * 100}%` }) }}
      aria-label={`${words}; ${whenText(item, nowMs)}`}
      aria-selected={isChosen}
      title={words}
    >
      {isMark || isNarrow || isOver ? '' : label}
    </div>
  );
}

export function whenText({ fromMs, toMs }: LaneItem, nowMs: number): string {
  if (toMs === fromMs) return `at ${clockTime(fromMs)}`;
  const took = spanText((toMs ?? nowMs) - fromMs);
  return `${clockTime(fromMs)} – ${toMs === undefined ? 'now' : clockTime(toMs)}, ${took}`;
}
