/** A terminal whose other end is a command in a container, over the channels of Kubernetes on a WebSocket. */
import { Terminal } from '@xterm/xterm';
import { sessionKey } from '../session.js';
import { passStylesByScript } from './strict-styles.js';

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4 } as const;
const mostEarlyChars = 4096;
/** The newest first; each is binary. */
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

export interface TerminalOptions {
  readonly place: HTMLElement;
  /** Below `/exec`: namespace, pod and container. */
  readonly path: string;
  readonly command: readonly string[];
  readonly onEnd: (why: string) => void;
}

export interface OpenTerminal {
  focus(): void;
  close(): void;
}

export function openTerminal({ place, path, command, onEnd }: TerminalOptions): OpenTerminal {
  passStylesByScript();
  const terminal = new Terminal({
    fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace',
    fontSize: 13,
    scrollback: 5_000,
    screenReaderMode: true,
    theme: { background: '#10141b', foreground: '#e7ebf2' },
  });
  terminal.attachCustomKeyEventHandler(leaveByKeyboard());
  terminal.open(place);
  const query = new URLSearchParams([
    ...command.map((word) => ['command', word]),
    ['input', '1'],
    ['output', '1'],
    ['tty', '1'],
  ]);
  const socket = new WebSocket(`ws://${location.host}/node/exec/${path}?${query}`, [
    ...protocols,
    `nodelet.key.${sessionKey()}`,
  ]);
  socket.binaryType = 'arraybuffer';
  const encoder = new TextEncoder();
  // What is typed before the command runs is not lost.
  let typedEarly = '';
  const send = (channel: number, text: string): void => {
    if (socket.readyState === WebSocket.CONNECTING && channel === channels.stdin)
      typedEarly = `${typedEarly}${text}`.slice(0, mostEarlyChars);
    if (socket.readyState !== WebSocket.OPEN) return;
    const bytes = encoder.encode(text);
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    socket.send(message);
  };
  const fitToPlace = (): void => {
    const size = fittingSize(terminal, place);
    if (size === undefined) return;
    terminal.resize(size.columns, size.rows);
    send(channels.resize, JSON.stringify({ Width: size.columns, Height: size.rows }));
  };
  let status = '';
  socket.addEventListener('open', () => {
    fitToPlace();
    if (typedEarly !== '') send(channels.stdin, typedEarly);
  });
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => {
    const bytes = new Uint8Array(data);
    const [channel] = bytes;
    const content = bytes.subarray(1);
    if (channel === channels.stdout || channel === channels.stderr) terminal.write(content);
    else if (channel === channels.status) status += new TextDecoder().decode(content);
  });
  socket.addEventListener('close', () => onEnd(endText(status)));
  terminal.onData((text) => send(channels.stdin, text));
  const sizes = new ResizeObserver(fitToPlace);
  sizes.observe(place);
  return {
    focus: () => terminal.focus(),
    close: () => {
      sizes.disconnect();
      socket.close();
      terminal.dispose();
    },
  };
}

/** A terminal takes all keys, Tab among them; after Escape, Tab is the browser's, so that nobody is caught in it. */
function leaveByKeyboard(): (event: KeyboardEvent) => boolean {
  let escaped = false;
  return ({ type, key }) => {
    if (type !== 'keydown' || key === 'Shift') return true;
    const isLeaving = escaped && key === 'Tab';
    escaped = key === 'Escape';
    return !isLeaving;
  };
}

/** Undefined before the terminal is on the screen. */
function fittingSize(
  terminal: Terminal,
  place: HTMLElement,
): { readonly columns: number; readonly rows: number } | undefined {
  const screen = terminal.element?.querySelector('.xterm-screen');
  if (!(screen instanceof HTMLElement) || screen.clientWidth === 0) return undefined;
  const cellWidth = screen.clientWidth / terminal.cols;
  const cellHeight = screen.clientHeight / terminal.rows;
  const look = getComputedStyle(place);
  const scrollbarPx = 14;
  const width = place.clientWidth - Number.parseFloat(look.paddingLeft) * 2 - scrollbarPx;
  const height = place.clientHeight - Number.parseFloat(look.paddingTop) * 2;
  return {
    columns: Math.max(10, Math.floor(width / cellWidth)),
    rows: Math.max(4, Math.floor(height / cellHeight)),
  };
}

/** What the last message of the status channel says of the end. */
function endText(status: string): string {
  try {
    // The status channel carries a Kubernetes Status.
    const { status: outcome, message = '' } = JSON.parse(status) as { status?: string; message?: string };
    return outcome === 'Success' ? 'The command has ended.' : message || 'The command has failed.';
  } catch {
    return 'The connection has ended: the node is gone, or what lies between.';
  }
}
