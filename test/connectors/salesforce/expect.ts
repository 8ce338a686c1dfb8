import { type Actor, MirrorError, type Retry } from '../../../src/core/model/errors.ts';

/** What is expected of an error. */
export interface ExpectedError {
  actor: Actor;
  code: string;
  retry?: Retry;
  retryAfterMs?: number;
  /** Words that the message or the remedy must contain. */
  words?: readonly string[];
}

/** Whether a value is such an error; for `toSatisfy`. */
export function isMirrorError({ words = [], ...parts }: ExpectedError): (error: unknown) => boolean {
  return (error) => {
    if (!(error instanceof MirrorError)) return false;
    const text = `${error.message} ${error.remedy}`;
    const isSame = Object.entries(parts).every(([name, value]) => error[name as keyof typeof parts] === value);
    return isSame && words.every((word) => text.includes(word));
  };
}
