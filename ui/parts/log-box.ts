/** The lines of a log on the screen: added in turns of the screen, bounded, searched; always as text, whatever they say. */
import { cleanLogLine } from '../../src/cli/print/log-lines.js';

/** Lines kept; the oldest go. */
const mostLines = 5_000;
/** Of one line; a container may print without ever ending one. */
const mostChars = 10_000;

export class LogBox {
  readonly #place: HTMLElement;
  readonly #lines: string[] = [];
  #waiting: string[] = [];
  #wanted = '';
  #frame: number | undefined;

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  add(line: string): void {
    const clean = cleanLogLine(line.slice(0, mostChars));
    this.#lines.push(clean);
    if (this.#lines.length > mostLines) this.#lines.shift();
    this.#waiting.push(clean);
    if (this.#waiting.length > mostLines) this.#waiting.shift();
    this.#frame ??= requestAnimationFrame(() => this.#show());
  }

  /** Of the page itself, not of the container. */
  tell(text: string): void {
    const element = document.createElement('div');
    element.className = 'told';
    element.textContent = text;
    this.#place.append(element);
  }

  /** Shows only the lines with this text; returns how many. */
  search(wanted: string): number {
    this.#wanted = wanted.toLowerCase();
    this.#waiting = [...this.#lines];
    this.#place.replaceChildren();
    this.#show();
    return this.#lines.filter((line) => this.#fits(line)).length;
  }

  clear(): void {
    this.#lines.length = 0;
    this.#waiting.length = 0;
    this.#place.replaceChildren();
  }

  close(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #show(): void {
    this.#frame = undefined;
    const place = this.#place;
    const isAtEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
    const shown = this.#waiting.filter((line) => this.#fits(line)).map((line) => this.#element(line));
    this.#waiting = [];
    place.append(...shown);
    while (place.childElementCount > mostLines) place.firstElementChild?.remove();
    if (isAtEnd) place.scrollTop = place.scrollHeight;
  }

  #fits(line: string): boolean {
    return this.#wanted === '' || line.toLowerCase().includes(this.#wanted);
  }

  #element(line: string): HTMLElement {
    const element = document.createElement('div');
    const at = this.#wanted === '' ? -1 : line.toLowerCase().indexOf(this.#wanted);
    if (at < 0) {
      element.textContent = line === '' ? ' ' : line;
      return element;
    }
    const found = document.createElement('mark');
    found.textContent = line.slice(at, at + this.#wanted.length);
    element.append(line.slice(0, at), found, line.slice(at + this.#wanted.length));
    return element;
  }
}
