/** Reads the subset of proto3 that nodelet's own protos use into plain data. */

export interface ProtoField {
  readonly name: string;
  readonly number: number;
  /** As written: a scalar, or the name of a message or enum. For a map, the type of its values. */
  readonly type: string;
  readonly shape: 'single' | 'repeated' | 'map';
  /** The 64-bit field is read as a `bigint`. */
  readonly bigint: boolean;
}

export interface ProtoMessage {
  readonly name: string;
  readonly fields: ProtoField[];
}

export interface ProtoEnum {
  readonly name: string;
  readonly values: { readonly name: string; readonly number: number }[];
}

export interface ProtoService {
  readonly name: string;
  readonly methods: {
    readonly name: string;
    readonly request: string;
    readonly response: string;
    readonly serverStreaming: boolean;
  }[];
}

export interface ProtoFile {
  readonly fileName: string;
  readonly package: string;
  /** Nested messages and enums stand beside the others under the name `Outer_Inner`. */
  readonly messages: ProtoMessage[];
  readonly enums: ProtoEnum[];
  readonly services: ProtoService[];
}

interface Token {
  readonly text: string;
  readonly line: number;
}

export function parseProto(source: string, fileName: string): ProtoFile {
  return new Parser(source, fileName).file();
}

function tokenize(source: string): { tokens: Token[]; bigintLines: Set<number> } {
  const tokens: Token[] = [];
  const bigintLines = new Set<number>();
  for (const [index, text] of source.split('\n').entries()) {
    const comment = text.indexOf('//');
    const code = comment < 0 ? text : text.slice(0, comment);
    if (comment >= 0 && code.trim() !== '' && text.slice(comment).includes('@bigint'))
      bigintLines.add(index + 1);
    for (const match of code.matchAll(/"[^"]*"|[\w.]+|\S/g)) tokens.push({ text: match[0], line: index + 1 });
  }
  return { tokens, bigintLines };
}

class Parser {
  readonly #fileName: string;
  readonly #tokens: Token[];
  readonly #bigintLines: Set<number>;
  #next = 0;
  readonly #messages: ProtoMessage[] = [];
  readonly #enums: ProtoEnum[] = [];
  readonly #services: ProtoService[] = [];

  constructor(source: string, fileName: string) {
    this.#fileName = fileName;
    const { tokens, bigintLines } = tokenize(source);
    this.#tokens = tokens;
    this.#bigintLines = bigintLines;
  }

  file(): ProtoFile {
    let packageName = '';
    while (this.#next < this.#tokens.length) {
      const keyword = this.#take();
      switch (keyword) {
        case 'syntax':
          this.#expect('=');
          this.#expect('"proto3"');
          this.#expect(';');
          break;
        case 'package':
          packageName = this.#take();
          this.#expect(';');
          break;
        case 'service':
          this.#service();
          break;
        case 'message':
          this.#message('');
          break;
        case 'enum':
          this.#enum('');
          break;
        default:
          throw this.#error(`unexpected "${keyword}"`);
      }
    }
    return {
      fileName: this.#fileName,
      package: packageName,
      messages: this.#messages,
      enums: this.#enums,
      services: this.#services,
    };
  }

  #service(): void {
    const service: ProtoService = { name: this.#take(), methods: [] };
    this.#expect('{');
    while (!this.#accept('}')) {
      this.#expect('rpc');
      const name = this.#take();
      this.#expect('(');
      const request = this.#take();
      this.#expect(')');
      this.#expect('returns');
      this.#expect('(');
      const serverStreaming = this.#accept('stream');
      const response = this.#take();
      this.#expect(')');
      this.#expect(';');
      service.methods.push({ name, request, response, serverStreaming });
    }
    this.#services.push(service);
  }

  #message(prefix: string): void {
    const message: ProtoMessage = { name: prefix + this.#take(), fields: [] };
    this.#messages.push(message);
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept('enum')) this.#enum(`${message.name}_`);
      else if (this.#accept('message')) this.#message(`${message.name}_`);
      else message.fields.push(this.#field());
    }
  }

  #field(): ProtoField {
    let shape: ProtoField['shape'] = this.#accept('repeated') ? 'repeated' : 'single';
    let type = this.#take();
    if (type === 'map') {
      shape = 'map';
      this.#expect('<');
      this.#expect('string');
      this.#expect(',');
      type = this.#take();
      this.#expect('>');
    }
    const name = this.#take();
    this.#expect('=');
    const number = this.#number();
    if (this.#accept('[')) while (!this.#accept(']')) this.#take();
    this.#expect(';');
    const line = this.#tokens[this.#next - 1]?.line ?? 0;
    const bigint = this.#bigintLines.has(line);
    if (bigint && type !== 'int64' && type !== 'uint64')
      throw this.#error(`@bigint on a field of type ${type}`);
    return { name, number, type, shape, bigint };
  }

  #enum(prefix: string): void {
    const declaration: ProtoEnum = { name: prefix + this.#take(), values: [] };
    this.#enums.push(declaration);
    this.#expect('{');
    while (!this.#accept('}')) {
      const name = this.#take();
      this.#expect('=');
      declaration.values.push({ name, number: this.#number() });
      this.#expect(';');
    }
  }

  #number(): number {
    const text = this.#take();
    if (!/^\d+$/.test(text)) throw this.#error(`a number is wanted, not "${text}"`);
    return Number(text);
  }

  #take(): string {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw this.#error('unexpected end of file');
    this.#next++;
    return token.text;
  }

  #accept(text: string): boolean {
    if (this.#tokens[this.#next]?.text !== text) return false;
    this.#next++;
    return true;
  }

  #expect(text: string): void {
    const found = this.#take();
    if (found !== text) throw this.#error(`"${text}" is wanted, not "${found}"`);
  }

  #error(message: string): Error {
    return new Error(`${this.#fileName}:${this.#tokens[this.#next - 1]?.line ?? 0}: ${message}`);
  }
}
