import { expect } from 'vitest';
import type { Flow } from '../../src/connectors/flow.ts';
import type { WireCall, WireResponse } from '../../src/connectors/wire.ts';
import { MirrorError } from '../../src/core/model/errors.ts';

/** What a flow asked, call by call, and how it ended. */
export interface Played<Result> {
  calls: WireCall[];
  /** Each call as `METHOD path?query`, with its condition and whether it must be sent separately. */
  log: string[];
  result: Result | MirrorError;
}

/** An answer of a vendor. */
export function answered(status: number, body?: unknown): WireResponse {
  return { status, body, retryAfterMs: null };
}

/** Plays one flow against a vendor's answers. The flow must request each of them, and no more. */
export function playFlow<Result>(flow: Flow<Result>, ...answers: WireResponse[]): Played<Result> {
  const calls: WireCall[] = [];
  let result: Result | MirrorError;
  try {
    let step = flow.next();
    while (!step.done) {
      calls.push(step.value);
      const answer = answers[calls.length - 1];
      if (answer === undefined) throw new Error(`unexpected call ${lineOf(step.value)}`);
      step = flow.next(answer);
    }
    result = step.value;
  } catch (error) {
    if (!(error instanceof MirrorError)) throw error;
    result = error;
  }
  const log = calls.map(lineOf);
  expect(log, 'as many calls as answers').toHaveLength(answers.length);
  return { calls, log, result };
}

function lineOf({ method, path, ifMatch, alone }: WireCall): string {
  const condition = ifMatch === undefined ? '' : ` if ${ifMatch}`;
  return `${method} ${path}${condition}${alone === true ? ' alone' : ''}`;
}
