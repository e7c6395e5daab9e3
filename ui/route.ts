/** Which view is shown, as the address has it after its `#`. */
import { Cell } from './cell.js';

export const podTabs = ['overview', 'logs', 'terminal', 'events', 'manifest'] as const;
export type PodTab = (typeof podTabs)[number];

export type Route =
  | { readonly view: 'pods' }
  | { readonly view: 'pod'; readonly uid: string; readonly tab: PodTab }
  | { readonly view: 'node' }
  | { readonly view: 'starts' }
  | { readonly view: 'what-if' };

export const route = new Cell<Route>({ view: 'pods' });

export function hrefOf(to: Route): string {
  return to.view === 'pod' ? `#/pods/${encodeURIComponent(to.uid)}/${to.tab}` : `#/${to.view}`;
}

export function followRoute(): void {
  const read = (): void => route.set(routeOf(location.hash));
  read();
  window.addEventListener('hashchange', read);
}

export function routeOf(hash: string): Route {
  const [view = '', uid, tab] = hash.replace(/^#\/?/, '').split('/');
  switch (view) {
    case 'node':
    case 'starts':
    case 'what-if':
      return { view };
    default:
      return uid === undefined || uid === ''
        ? { view: 'pods' }
        : { view: 'pod', uid: decoded(uid), tab: podTabs.find((known) => known === tab) ?? 'overview' };
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
