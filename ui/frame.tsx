/** What stands around every view: the name of the node, the ways to the views, and whether the node answers. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clockTime } from '../src/timeline/clock-time.js';
import { useCell } from './cell.js';
import { askJson } from './node/ask.js';
import type { FollowState } from './node/followed.js';
import { LiveNode } from './node/live-node.js';
import { UsageHistory } from './node/usage.js';
import { hrefOf, type Route, route } from './route.js';
import { closeSession, session } from './session.js';
import { NodeView } from './views/node.js';
import { PodViewOf } from './views/pod.js';
import { PodsView } from './views/pods.js';
import { StartsView } from './views/starts.js';
import { WhatIfView } from './views/what-if.js';

export interface About {
  readonly kind: 'run' | 'agent' | 'bare node';
  readonly name: string;
}

export interface ViewProps {
  readonly node: LiveNode;
  readonly usage: UsageHistory;
  readonly about: About | undefined;
}

const ways: readonly { readonly to: Route; readonly text: string }[] = [
  { to: { view: 'pods' }, text: 'Pods' },
  { to: { view: 'node' }, text: 'Node' },
  { to: { view: 'starts' }, text: 'Why is this slow' },
  { to: { view: 'what-if' }, text: 'What if' },
];

export function Frame() {
  const state = useCell(session);
  return state.kind === 'closed' ? <LetIn because={state.because} /> : <Open />;
}

function LetIn({ because }: { readonly because: string }) {
  return (
    <main class="let-in">
      <h1>nodelet</h1>
      <p role="alert">{because}</p>
      <p>
        Run <code>nodelet ui</code> on the machine and open the address that it prints. Where it runs already,
        press Enter there for another address.
      </p>
    </main>
  );
}

function Open() {
  const node = useMemo(() => new LiveNode(), []);
  const usage = useMemo(() => new UsageHistory(), []);
  const [about, setAbout] = useState<About | undefined>();
  useEffect(() => {
    askJson<About>('/about').then(setAbout, () => undefined);
    return () => {
      node.close();
      usage.close();
    };
  }, []);
  const at = useCell(route);
  useTitleAndFocus(at, node);
  const isAt = (to: Route): boolean => to.view === at.view || (to.view === 'pods' && at.view === 'pod');
  return (
    <>
      <button type="button" class="skip" onClick={focusMain}>
        Skip to the content
      </button>
      <header class="top">
        <a class="name" href={hrefOf({ view: 'pods' })}>
          nodelet
        </a>
        <span class="target" title={about?.name}>
          {about?.name ?? ''}
        </span>
        <nav aria-label="Views">
          {ways.map(({ to, text }) => (
            <a key={to.view} href={hrefOf(to)} aria-current={isAt(to) ? 'page' : undefined}>
              {text}
            </a>
          ))}
        </nav>
        <LinkState node={node} />
      </header>
      <main id="main" tabIndex={-1}>
        <View at={at} node={node} usage={usage} about={about} />
      </main>
    </>
  );
}

function View({ at, ...props }: ViewProps & { readonly at: Route }) {
  switch (at.view) {
    case 'pods':
      return <PodsView {...props} />;
    case 'pod':
      return <PodViewOf key={at.uid} uid={at.uid} tab={at.tab} {...props} />;
    case 'node':
      return <NodeView {...props} />;
    case 'starts':
      return <StartsView {...props} />;
    case 'what-if':
      return <WhatIfView />;
  }
}

function focusMain(): void {
  document.getElementById('main')?.focus();
}

/** A change of view is told as a page would be: by its title, and by where the focus is. */
function useTitleAndFocus(at: Route, node: LiveNode): void {
  const isFirst = useRef(true);
  const name = at.view === 'pod' ? at.uid : at.view;
  useEffect(() => {
    const pod = at.view === 'pod' ? node.pod(at.uid)?.pod.metadata.name : undefined;
    document.title = `${pod ?? ways.find(({ to }) => to.view === at.view)?.text ?? 'Pod'} · nodelet`;
    if (!isFirst.current) {
      document.getElementById('main')?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [name]);
}

function linkText(state: FollowState): string {
  switch (state.kind) {
    case 'live':
      return 'live';
    case 'connecting':
      return 'connecting …';
    case 'refused':
      return `refused since ${clockTime(state.sinceMs)}: ${state.because}`;
    case 'lost':
      return `lost at ${clockTime(state.sinceMs)}, trying again: ${state.because}`;
  }
}

function LinkState({ node }: { readonly node: LiveNode }) {
  const state = useCell(node.state);
  return (
    <div class="link">
      <span role="status" class={`link-state ${state.kind}`}>
        {linkText(state)}
      </span>
      <button type="button" class="quiet" onClick={() => closeSession('This browser was let out.')}>
        Leave
      </button>
    </div>
  );
}
