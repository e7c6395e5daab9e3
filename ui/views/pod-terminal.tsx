/** A terminal in a container. What it needs is loaded when it is opened. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ContainerChoice, containerNames } from '../parts/container-choice.js';
import type { OpenTerminal } from '../terminal/open-terminal.js';
import type { PodProps } from './pod.js';

export function PodTerminal({ node, uid }: PodProps) {
  const pod = node.pod(uid)?.pod;
  const [container, setContainer] = useState(() => containerNames(pod)[0] ?? '');
  const [command, setCommand] = useState('sh');
  const [state, setState] = useState<'closed' | 'open' | string>('closed');
  const place = useRef<HTMLDivElement>(null);
  const terminal = useRef<OpenTerminal | undefined>(undefined);
  useEffect(() => () => terminal.current?.close(), []);
  const { namespace = '', name = '' } = pod?.metadata ?? {};
  const open = async (): Promise<void> => {
    terminal.current?.close();
    place.current?.replaceChildren();
    setState('open');
    const { openTerminal } = await import('../terminal/open-terminal.js');
    if (place.current === null) return;
    terminal.current = openTerminal({
      place: place.current,
      path: `${namespace}/${name}/${container}`,
      command: command.split(/\s+/).filter(Boolean),
      onEnd: setState,
    });
    terminal.current.focus();
  };
  return (
    <section class="sheet" aria-label="Terminal">
      <form
        class="log-tools"
        onSubmit={(event) => {
          event.preventDefault();
          void open();
        }}
      >
        <ContainerChoice pod={pod} value={container} onChange={setContainer} />
        <label>
          Command{' '}
          <input value={command} onInput={({ currentTarget }) => setCommand(currentTarget.value)} required />
        </label>
        <button type="submit">{state === 'open' ? 'Open anew' : 'Open'}</button>
        <span role="status" class="soft">
          {state === 'open' || state === 'closed' ? '' : state}
        </span>
        <span class="soft">Esc, then Tab leaves the terminal.</span>
      </form>
      <div class="terminal" ref={place} />
    </section>
  );
}
