import { faultAt } from './describe-issue.ts';
import { didYouMean } from './did-you-mean.ts';
import type { ConfigurationFault } from './faults.ts';
import { keysAt, type ValuePath, type YamlFile } from './yaml-file.ts';

/** A part of a file as written. Checks pass over what is missing or of the wrong type, since the schema reports it. */
export class FilePart {
  readonly file: YamlFile;
  readonly path: ValuePath;

  constructor(file: YamlFile, path: ValuePath = []) {
    this.file = file;
    this.path = path;
  }

  /** Undefined when the file has no such part. */
  get value(): unknown {
    return this.file.valueAt(this.path);
  }

  get isMissing(): boolean {
    return this.value === undefined;
  }

  /** Null for anything but a string. */
  get text(): string | null {
    return typeof this.value === 'string' ? this.value : null;
  }

  /** Empty for anything but a list. */
  get list(): readonly unknown[] {
    return Array.isArray(this.value) ? this.value : [];
  }

  /** Names in the mapping; none when it is no mapping. */
  get names(): string[] {
    return keysAt(this.file, this.path);
  }

  at(...keys: ValuePath): FilePart {
    return new FilePart(this.file, [...this.path, ...keys]);
  }

  /** Parts that a pattern leads to, such as `targets.*.title`; `*` stands for every name of a mapping and every element of a list. */
  *matching(pattern: string): Generator<FilePart> {
    const [key = '', ...rest] = pattern.split('.');
    if (key === '') yield this;
    else for (const name of key === '*' ? this.#keys() : [key]) yield* this.at(name).matching(rest.join('.'));
  }

  fault(message: string, remedy: string): ConfigurationFault {
    return faultAt(this.file, this.path, message, remedy);
  }

  /** Faults of a name that is not among the known ones; none while these are null. @param what the thing that the name stands for */
  *unknownName(candidates: readonly string[] | null, what: string, remedy: string): Generator<ConfigurationFault> {
    const { text } = this;
    if (text === null || candidates === null || candidates.includes(text)) return;
    const list = candidates.length === 0 ? `there is no ${what} yet` : `there are: ${candidates.join(', ')}`;
    yield this.fault(`there is no ${what} ${JSON.stringify(text)}`, `${question(text, candidates)}${list}; ${remedy}`);
  }

  #keys(): PropertyKey[] {
    return Array.isArray(this.value) ? [...this.value.keys()] : this.names;
  }
}

/** "did you mean …? " where a known name is similar, else empty. */
export function question(written: string, candidates: readonly string[]): string {
  const guess = didYouMean(written, candidates);
  return guess === null ? '' : `did you mean ${guess}? `;
}
