/** One pod: its life, why it waits, what it uses, its logs, a terminal in it, its events and its manifest. */

import type { PodView } from '../../src/cli/run/pod-view.js';
import { useCell } from '../cell.js';
import type { ViewProps } from '../frame.js';
import { Status } from '../parts/status.js';
import { hrefOf, type PodTab, podTabs } from '../route.js';
import { PodEvents } from './pod-events.js';
import { PodLogs } from './pod-logs.js';
import { PodManifest } from './pod-manifest.js';
import { PodOverview } from './pod-overview.js';
import { PodTerminal } from './pod-terminal.js';
import { unknownText } from './pods.js';

export interface PodProps extends ViewProps {
  readonly uid: string;
}

const tabTexts: Readonly<Record<PodTab, string>> = {
  overview: 'Overview',
  logs: 'Logs',
  terminal: 'Terminal',
  events: 'Events and steps',
  manifest: 'Manifest',
};

export function PodViewOf({ uid, tab, ...props }: PodProps & { readonly tab: PodTab }) {
  const { node } = props;
  useCell(node.order);
  const state = useCell(node.state);
  const live = node.pod(uid);
  const known = node.entriesOf(uid).at(-1)?.pod;
  const name = live?.pod.metadata.name ?? known?.name;
  if (name === undefined)
    return (
      <>
        <h1>Pod</h1>
        <p class="empty">
          {state.kind === 'live' ? 'Nothing is known of this pod any more.' : unknownText(state)}
        </p>
      </>
    );
  return (
    <section aria-labelledby="pod-heading">
      <div class="heading">
        <h1 id="pod-heading">
          {name} <span class="soft">{live?.pod.metadata.namespace ?? known?.namespace}</span>
        </h1>
        {live === undefined ? (
          <p>This pod is gone; its steps are kept for a while.</p>
        ) : (
          <PodLine {...props} uid={uid} />
        )}
      </div>
      <nav class="tabs" aria-label="Of this pod">
        {podTabs.map((one) => (
          <a
            key={one}
            href={hrefOf({ view: 'pod', uid, tab: one })}
            aria-current={one === tab ? 'page' : undefined}
          >
            {tabTexts[one]}
          </a>
        ))}
      </nav>
      <Tab tab={tab} uid={uid} {...props} />
    </section>
  );
}

function PodLine({ node, uid }: PodProps) {
  const live = node.pod(uid);
  if (live === undefined) return null;
  const line = useCell(live.line);
  return (
    <p>
      <Status text={line.status} /> · {line.ready} ready · {restartsText(line)} · {line.age}
    </p>
  );
}

/** `3 restarts (12s ago)` */
function restartsText({ restarts, restartCount }: Pick<PodView, 'restarts' | 'restartCount'>): string {
  return `${restartCount} restart${restartCount === 1 ? '' : 's'}${restarts.replace(/^\d+/, '')}`;
}

function Tab({ tab, ...props }: PodProps & { readonly tab: PodTab }) {
  const live = props.node.pod(props.uid);
  if (tab === 'events') return <PodEvents {...props} />;
  if (tab === 'overview') return <PodOverview {...props} />;
  if (live === undefined) return <p class="empty">This pod is gone.</p>;
  switch (tab) {
    case 'logs':
      return <PodLogs {...props} />;
    case 'terminal':
      return <PodTerminal {...props} />;
    case 'manifest':
      return <PodManifest {...props} />;
  }
}
