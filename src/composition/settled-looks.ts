import { isSameLook, type Look } from '../settings/seen-files.ts';

/** Tells at each look at the files whether it is time to read them: when they changed, and not since the look before. */
export class SettledLooks {
  readonly #isAsRead: (look: Look) => boolean;
  #previous: Look | null = null;
  /** What was found before the last reading. */
  #read: Look | null = null;

  /** @param isAsRead whether a look found what a start read */
  constructor(isAsRead: (look: Look) => boolean) {
    this.#isAsRead = isAsRead;
  }

  /** Whether a look found what was read last: nobody is at work on a file. */
  isAtRest(look: Look): boolean {
    return this.#read !== null && isSameLook(look, this.#read);
  }

  /** @param options.isAsked whoever asks for a reading doesn't wait for another look */
  isDue(look: Look, { isAsked }: { isAsked: boolean }): boolean {
    if (this.#read === null && this.#isAsRead(look)) this.#read = look;
    const isSettled = this.#previous !== null && isSameLook(look, this.#previous);
    this.#previous = look;
    const isOther = this.#read === null || !isSameLook(look, this.#read);
    if (!isAsked && !(isSettled && isOther)) return false;
    this.#read = look;
    return true;
  }
}
