/** Reads the part of proto3 that the protos of a node use into plain data, and refuses everything else. */
import { type Token, tokenize } from './tokens.js';

export type FieldShape = 'single' | 'optional' | 'repeated' | 'map';

export interface ProtoField {
  readonly name: string;
  readonly number: number;
  /** As written: a scalar, or the name of a message or enum. For a map, the type of its values. */
  readonly type: string;
  readonly shape: FieldShape;
  /** The oneof that the field is a case of. */
  readonly oneof?: string;
  /** The 64-bit field is read as a `bigint`. */
  readonly bigint: boolean;
}

export interface ProtoMessage {
  /** `Outer.Inner` for a nested one. */
  readonly name: string;
  readonly fields: readonly ProtoField[];
}

export interface ProtoEnum {
  /** `Outer.Inner` for a nested one. */
  readonly name: string;
  readonly values: readonly { readonly name: string; readonly number: number }[];
}

export interface ProtoMethod {
  readonly name: string;
  readonly request: string;
  readonly response: string;
  readonly serverStreaming: boolean;
}

export interface ProtoService {
  readonly name: string;
  readonly methods: readonly ProtoMethod[];
}

export interface ProtoFile {
  readonly fileName: string;
  readonly package: string;
  /** As written: `google/protobuf/timestamp.proto`. */
  readonly imports: readonly string[];
  /** Nested ones stand beside the others. */
  readonly messages: readonly ProtoMessage[];
  readonly enums: readonly ProtoEnum[];
  readonly services: readonly ProtoService[];
}

export function parseProto(source: string, fileName: string): ProtoFile {
  return new Parser(source, fileName).file();
}

class Parser {
  readonly #fileName: string;
  readonly #tokens: readonly Token[];
  readonly #bigintLines: ReadonlySet<number>;
  #next = 0;
  readonly #imports: string[] = [];
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
          if (this.#text() !== 'proto3') throw this.#error('only proto3 is read');
          this.#expect(';');
          break;
        case 'package':
          packageName = this.#take();
          this.#expect(';');
          break;
        case 'import':
          this.#imports.push(this.#text());
          this.#expect(';');
          break;
        case 'option':
          this.#skipStatement();
          break;
        case 'extend':
          // Options of its own, as CSI declares them: they are nothing on the wire.
          this.#take();
          this.#expect('{');
          this.#skipTo('}');
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
        case ';':
          break;
        default:
          throw this.#error(`unexpected "${keyword}"`);
      }
    }
    return {
      fileName: this.#fileName,
      package: packageName,
      imports: this.#imports,
      messages: this.#messages,
      enums: this.#enums,
      services: this.#services,
    };
  }

  #service(): void {
    const methods: ProtoMethod[] = [];
    const name = this.#take();
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept(';')) continue;
      if (this.#accept('option')) this.#skipStatement();
      else methods.push(this.#method());
    }
    this.#services.push({ name, methods });
  }

  #method(): ProtoMethod {
    this.#expect('rpc');
    const name = this.#take();
    this.#expect('(');
    if (this.#accept('stream')) throw this.#error(`${name}: a stream of requests is not supported`);
    const request = this.#take();
    this.#expect(')');
    this.#expect('returns');
    this.#expect('(');
    const serverStreaming = this.#accept('stream');
    const response = this.#take();
    this.#expect(')');
    // The body has options only.
    if (this.#accept('{')) this.#skipTo('}');
    else this.#expect(';');
    return { name, request, response, serverStreaming };
  }

  #message(outer: string): void {
    const name = outer + this.#take();
    const fields: ProtoField[] = [];
    this.#messages.push({ name, fields });
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept(';')) continue;
      if (this.#accept('enum')) this.#enum(`${name}.`);
      else if (this.#accept('message')) this.#message(`${name}.`);
      else if (this.#accept('oneof')) fields.push(...this.#oneof());
      else if (this.#accept('option') || this.#accept('reserved')) this.#skipStatement();
      else fields.push(this.#field());
    }
  }

  #oneof(): ProtoField[] {
    const oneof = this.#take();
    const fields: ProtoField[] = [];
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept('option')) this.#skipStatement();
      else fields.push({ ...this.#field(), oneof });
    }
    if (fields.some(({ shape }) => shape !== 'single'))
      throw this.#error(`${oneof}: a case of a oneof is one value`);
    return fields;
  }

  #field(): ProtoField {
    let shape: FieldShape = 'single';
    if (this.#accept('repeated')) shape = 'repeated';
    else if (this.#accept('optional')) shape = 'optional';
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
    if (number < 1) throw this.#error(`${name}: the number of a field is 1 or more`);
    if (this.#accept('[')) this.#skipTo(']');
    const line = this.#tokens[this.#next]?.line ?? 0;
    this.#expect(';');
    const bigint = this.#bigintLines.has(line);
    if (bigint && type !== 'int64' && type !== 'uint64')
      throw this.#error(`@bigint on a field of type ${type}`);
    return { name, number, type, shape, bigint };
  }

  #enum(outer: string): void {
    const name = outer + this.#take();
    const values: { name: string; number: number }[] = [];
    this.#enums.push({ name, values });
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept(';')) continue;
      if (this.#accept('option') || this.#accept('reserved')) {
        this.#skipStatement();
        continue;
      }
      const valueName = this.#take();
      this.#expect('=');
      values.push({ name: valueName, number: this.#number() });
      if (this.#accept('[')) this.#skipTo(']');
      this.#expect(';');
    }
  }

  /** The rest of a statement that says nothing about the wire. */
  #skipStatement(): void {
    this.#skipTo(';');
  }

  /** Past the sign that ends what has begun; brackets in between are skipped whole. */
  #skipTo(end: string): void {
    for (;;) {
      const text = this.#take();
      if (text === end) return;
      if (text === '{') this.#skipTo('}');
      if (text === '[') this.#skipTo(']');
    }
  }

  #number(): number {
    const text = this.#take();
    if (!/^-?\d+$/.test(text)) throw this.#error(`a number is wanted, not "${text}"`);
    return Number(text);
  }

  /** A text in quotes. */
  #text(): string {
    const text = this.#take();
    if (!/^["']/.test(text)) throw this.#error(`a text is wanted, not "${text}"`);
    return text.slice(1, -1);
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
