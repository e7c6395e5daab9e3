/** What a terminal shows after some output: enough of a terminal for what `nodelet run` writes. */

export class Screen {
  columns: number;
  rows: number;
  cursorVisible = true;
  #lines: string[] = [''];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** All lines that were not overwritten, those that scrolled away included. */
  get lines(): readonly string[] {
    return this.#lines.map((line) => line.trimEnd());
  }

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is made of them
    for (const [part] of text.matchAll(/\u001b\[[?0-9;]*[A-Za-z]|[\r\n]|[^\r\n\u001b]+/g)) this.#take(part);
  }

  #take(part: string): void {
    if (part === '\r') this.#column = 0;
    else if (part === '\n') this.#feed();
    else if (part.startsWith('\u001b[')) this.#control(part.slice(2, -1), part.at(-1) ?? '');
    else for (const character of part) this.#put(character);
  }

  #feed(): void {
    this.#row++;
    while (this.#lines.length <= this.#row) this.#lines.push('');
  }

  #put(character: string): void {
    const line = [...(this.#lines[this.#row] ?? '').padEnd(this.#column)];
    line[this.#column] = character;
    this.#lines[this.#row] = line.join('');
    this.#column++;
  }

  #control(parameter: string, command: string): void {
    if (command === 'A') this.#row = Math.max(0, this.#row - Number(parameter || 1));
    else if (command === 'K')
      this.#lines[this.#row] = [...(this.#lines[this.#row] ?? '')].slice(0, this.#column).join('');
    else if (command === 'J') {
      this.#lines.length = this.#row + 1;
      this.#lines[this.#row] = [...(this.#lines[this.#row] ?? '')].slice(0, this.#column).join('');
    } else if (parameter === '?25') this.cursorVisible = command === 'h';
  }
}
