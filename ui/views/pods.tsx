/** The pods as a table: each row draws itself anew when its own text changes, and nothing else does. */
import { Component } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PodView } from '../../src/cli/run/pod-view.js';
import { toneOf } from '../../src/cli/run/pod-view.js';
import { useCell } from '../cell.js';
import type { ViewProps } from '../frame.js';
import type { FollowState } from '../node/followed.js';
import type { LiveNode } from '../node/live-node.js';
import { Status } from '../parts/status.js';
import { hrefOf } from '../route.js';

const columns = [
  { key: 'fullName', text: 'Pod' },
  { key: 'ready', text: 'Ready' },
  { key: 'status', text: 'Status' },
  { key: 'restartCount', text: 'Restarts' },
  { key: 'age', text: 'Age' },
  { key: 'waitsFor', text: 'Waits for' },
] as const satisfies readonly { readonly key: keyof PodView; readonly text: string }[];
type Column = (typeof columns)[number]['key'];

interface Sorting {
  readonly by: Column;
  readonly down: boolean;
}

export function PodsView({ node }: ViewProps) {
  const order = useCell(node.order);
  const state = useCell(node.state);
  const [wanted, setWanted] = useState('');
  const [sorting, setSorting] = useState<Sorting>({ by: 'fullName', down: false });
  useRedrawWhile(wanted !== '' || sorting.by !== 'fullName');
  const shown = sorted(node, matching(node, order, wanted), sorting);
  const sortBy = (by: Column): void => setSorting({ by, down: sorting.by === by && !sorting.down });
  return (
    <section aria-labelledby="pods-heading">
      <div class="heading">
        <h1 id="pods-heading">Pods</h1>
        <PodCounts node={node} />
        <label class="filter">
          <span class="hidden-text">Show only pods with</span>
          <input
            type="search"
            placeholder="Filter: name, status or reason"
            value={wanted}
            onInput={({ currentTarget }) => setWanted(currentTarget.value)}
          />
        </label>
      </div>
      <table class="pods">
        <caption class="hidden-text">The pods of this node, and what they wait for</caption>
        <thead>
          <tr>
            {columns.map(({ key, text }) => (
              <th
                key={key}
                scope="col"
                aria-sort={sorting.by === key ? (sorting.down ? 'descending' : 'ascending') : 'none'}
              >
                <button type="button" onClick={() => sortBy(key)}>
                  {text}
                  <span aria-hidden="true">{sorting.by === key ? (sorting.down ? ' ▾' : ' ▴') : ''}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((uid) => (
            <Row key={uid} uid={uid} node={node} />
          ))}
        </tbody>
      </table>
      {shown.length === 0 ? (
        <p class="empty">
          {order.length > 0
            ? 'No pod matches.'
            : state.kind === 'live'
              ? 'This node has no pods.'
              : unknownText(state)}
        </p>
      ) : null}
    </section>
  );
}

/** Why there is nothing to see. */
export function unknownText(state: FollowState): string {
  const because = 'because' in state ? `: ${state.because}` : '';
  return state.kind === 'refused'
    ? `The node may not be seen with these rights${because}`
    : `Nothing is known of this node now${because}`;
}

/** The order of rows that change by themselves is looked at now and then. */
function useRedrawWhile(needed: boolean): void {
  const [, redraw] = useState({});
  useEffect(() => {
    if (!needed) return undefined;
    const timer = setInterval(() => redraw({}), 1000);
    return () => clearInterval(timer);
  }, [needed]);
}

function matching(node: LiveNode, uids: readonly string[], wanted: string): readonly string[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return uids;
  return uids.filter((uid) => {
    const line = node.pod(uid)?.line.value;
    const text = `${line?.fullName} ${line?.status} ${line?.waitsFor}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function sorted(node: LiveNode, uids: readonly string[], { by, down }: Sorting): readonly string[] {
  if (by === 'fullName' && !down) return uids;
  const keyed = uids.map((uid) => {
    const live = node.pod(uid);
    const value =
      by === 'age'
        ? -Date.parse(live?.pod.metadata.creationTimestamp ?? live?.pod.status?.startTime ?? '')
        : live?.line.value[by];
    return { uid, value: value ?? '' };
  });
  const sign = down ? -1 : 1;
  keyed.sort((a, b) => (a.value === b.value ? 0 : a.value < b.value ? -sign : sign));
  return keyed.map(({ uid }) => uid);
}

interface RowProps {
  readonly uid: string;
  readonly node: LiveNode;
}

class Row extends Component<RowProps> {
  #stop: (() => void) | undefined;

  override componentDidMount(): void {
    this.#stop = this.props.node.pod(this.props.uid)?.line.subscribe(() => this.forceUpdate());
  }

  override componentWillUnmount(): void {
    this.#stop?.();
  }

  override shouldComponentUpdate(): boolean {
    return false;
  }

  override render({ uid, node }: RowProps) {
    const line = node.pod(uid)?.line.value;
    if (line === undefined) return null;
    return (
      <tr class={toneOf(line.status)}>
        <th scope="row">
          <a href={hrefOf({ view: 'pod', uid, tab: 'overview' })}>{line.fullName}</a>
        </th>
        <td data-label="Ready">{line.ready}</td>
        <td data-label="Status">
          <Status text={line.status} />
        </td>
        <td data-label="Restarts">{line.restarts}</td>
        <td data-label="Age">{line.age}</td>
        <td data-label="Waits for" class="waits">
          {line.waitsFor}
        </td>
      </tr>
    );
  }
}

function PodCounts({ node }: { readonly node: LiveNode }) {
  const order = useCell(node.order);
  const { waiting, failing } = useCell(node.counts);
  return (
    <p class="counts">
      {order.length} pods, {waiting} waiting, {failing} failing
    </p>
  );
}
