import { type FileStamps, isSameStamps } from '../settings/list-files.ts';

/** Tells at each look at the files whether it is time to read them: when they changed, and not since the look before. */
export class StableStamps {
  readonly #isAsRead: (stamps: FileStamps) => boolean;
  #previous: FileStamps | null = null;
  /** What was found before the last reading. */
  #read: FileStamps | null = null;

  /** @param isAsRead whether a look found what a start read */
  constructor(isAsRead: (stamps: FileStamps) => boolean) {
    this.#isAsRead = isAsRead;
  }

  /** Whether these are what was read last: nobody is at work on a file. */
  isAtRest(stamps: FileStamps): boolean {
    return this.#read !== null && isSameStamps(stamps, this.#read);
  }

  /** @param options.isAsked whoever asks for a reading doesn't wait for another look */
  isDue(stamps: FileStamps, { isAsked }: { isAsked: boolean }): boolean {
    if (this.#read === null && this.#isAsRead(stamps)) this.#read = stamps;
    const isStable = this.#previous !== null && isSameStamps(stamps, this.#previous);
    this.#previous = stamps;
    const isOther = this.#read === null || !isSameStamps(stamps, this.#read);
    if (!isAsked && !(isStable && isOther)) return false;
    this.#read = stamps;
    return true;
  }
}
