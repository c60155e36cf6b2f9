import { EngineError } from '../ports/errors.ts';

const shownLength = 200;
const plainName = /^[\p{L}\p{N}_-]+$/u;

/** The position of a reader in a document, so that error messages name the value. */
export class DocumentPlace {
  readonly path: string;
  readonly #steps: string[] = [];

  constructor(path: string) {
    this.path = path;
  }

  /** Reads a field of the document, or of a map in it. */
  inField<T>(name: string, read: () => T): T {
    const shown = plainName.test(name) ? name : JSON.stringify(name);
    return this.#within(this.#steps.length === 0 ? shown : `.${shown}`, read);
  }

  inElement<T>(index: number, read: () => T): T {
    return this.#within(`[${index}]`, read);
  }

  /** The error names the field, or the document if there is none. */
  refused(reason: string): EngineError {
    const field = this.#steps.join('');
    const shown = field.length > shownLength ? `${field.slice(0, shownLength)}…` : field;
    const subject = field === '' ? 'it' : `the field ${shown}`;
    return new EngineError('VALIDATION_ERROR', `${this.path} is refused: ${subject} ${reason}.`);
  }

  /** After an error nothing is read any more, so the position need not be restored. */
  #within<T>(step: string, read: () => T): T {
    this.#steps.push(step);
    const value = read();
    this.#steps.pop();
    return value;
  }
}
