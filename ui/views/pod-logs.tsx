/** The log of a container as it grows, with search. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { linesOfNode } from '../node/ask.js';
import { ContainerChoice, containerNames } from '../parts/container-choice.js';
import { LogBox } from '../parts/log-box.js';
import type { PodProps } from './pod.js';

const tailLines = 1_000;
const againMs = 2_000;

export function PodLogs({ node, uid }: PodProps) {
  const pod = node.pod(uid)?.pod;
  const [container, setContainer] = useState(() => containerNames(pod)[0] ?? '');
  const [previous, setPrevious] = useState(false);
  const [times, setTimes] = useState(false);
  const [wanted, setWanted] = useState('');
  const [found, setFound] = useState<number | undefined>();
  const place = useRef<HTMLDivElement>(null);
  const box = useRef<LogBox | undefined>(undefined);
  const { namespace = '', name = '' } = pod?.metadata ?? {};
  useEffect(() => {
    if (place.current === null || container === '') return undefined;
    const log = new LogBox(place.current);
    box.current = log;
    log.clear();
    const over = new AbortController();
    const options = `timestamps=${times}${previous ? '&previous=true' : '&follow=true'}`;
    void followLog(`/containerLogs/${namespace}/${name}/${container}`, options, !previous, log, over.signal);
    return () => {
      over.abort();
      log.close();
    };
  }, [namespace, name, container, previous, times]);
  const search = (text: string): void => {
    setWanted(text);
    const count = box.current?.search(text);
    setFound(text === '' ? undefined : count);
  };
  return (
    <section class="sheet" aria-label="Log">
      <div class="log-tools">
        <ContainerChoice pod={pod} value={container} onChange={setContainer} />
        <label>
          <input
            type="checkbox"
            checked={previous}
            onChange={({ currentTarget }) => setPrevious(currentTarget.checked)}
          />{' '}
          of the instance before
        </label>
        <label>
          <input
            type="checkbox"
            checked={times}
            onChange={({ currentTarget }) => setTimes(currentTarget.checked)}
          />{' '}
          times
        </label>
        <label>
          <span class="hidden-text">Search in the log</span>
          <input
            type="search"
            placeholder="Search"
            value={wanted}
            onInput={({ currentTarget }) => search(currentTarget.value)}
          />
        </label>
        <span role="status" class="soft">
          {found === undefined ? '' : `${found} line${found === 1 ? '' : 's'}`}
        </span>
      </div>
      {/* A log of a live container says something all the time; a reader who wants that goes into it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so does the keyboard in it */}
      <div class="log" ref={place} role="log" aria-live="off" aria-label="Lines of the log" tabIndex={0} />
    </section>
  );
}

/** A container that starts again, or a node that comes back, goes on with the same log. */
async function followLog(
  path: string,
  options: string,
  again: boolean,
  log: LogBox,
  over: AbortSignal,
): Promise<void> {
  let told = '';
  let tail: number = tailLines;
  while (!over.aborted) {
    try {
      for await (const line of linesOfNode(`${path}?${options}&tailLines=${tail}`, over)) {
        log.add(line);
        told = '';
        tail = 0;
      }
      if (!again) return;
    } catch (error) {
      if (over.aborted) return;
      const why = error instanceof Error ? error.message : String(error);
      if (why !== told) log.tell(why);
      told = why;
    }
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}
