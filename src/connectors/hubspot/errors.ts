import { MirrorError, type MirrorErrorOptions } from '../../model/errors.ts';
import type { Instant } from '../../model/time.ts';
import { DAY_MS } from '../../model/time.ts';
import { offsetMs } from '../../model/zones.ts';
import type { WireAnswer } from '../wire.ts';
import {
  DAILY_PAUSE_MS,
  LOCK_PAUSE_MS,
  MIDNIGHT_SPARE_MS,
  MOVING_PAUSE_MS,
  type ObjectName,
  TEN_SECONDLY_PAUSE_MS,
} from './limits.ts';
import { type Refusal, readRefusal } from './refusals.ts';

type Meaning = Pick<MirrorErrorOptions, 'actor' | 'code' | 'retry' | 'remedy'> & { message: string; pauseMs?: number };

/** When and where an answer came: what the wait after a daily limit goes by. */
export interface AnswerTime {
  at: Instant;
  /** The account's IANA zone; null while it is not known. */
  zone: string | null;
}

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  400: { message: 'HubSpot refused the call', actor: 'contract', code: 'refused', retry: 'never' },
  401: {
    message: 'HubSpot does not accept the login',
    actor: 'authorization',
    code: 'login-refused',
    retry: 'never',
    remedy: 'connect the HubSpot account again, or give the token of a private app that exists',
  },
  403: {
    message: 'HubSpot does not allow this to the login',
    actor: 'settings',
    code: 'crm-forbidden',
    retry: 'never',
    remedy: 'look in HubSpot whether the app and the account may use this part of the CRM',
  },
  404: { message: 'not found', actor: 'contract', code: 'not-found', retry: 'later' },
  409: {
    message: 'somebody else changed the same at the same time',
    actor: 'conflict',
    code: 'changed-meanwhile',
    retry: 'now',
  },
  423: {
    message: 'HubSpot has locked this kind of record for a moment',
    actor: 'remote',
    code: 'writes-locked',
    retry: 'later',
    pauseMs: LOCK_PAUSE_MS,
  },
  429: {
    message: 'HubSpot asks for fewer requests',
    actor: 'remote',
    code: 'rate-limited',
    retry: 'later',
    pauseMs: TEN_SECONDLY_PAUSE_MS,
  },
  477: {
    message: 'HubSpot is moving the account to another data centre',
    actor: 'remote',
    code: 'account-moving',
    retry: 'later',
    pauseMs: MOVING_PAUSE_MS,
  },
};

const IN_TROUBLE: Meaning = { message: 'HubSpot is in trouble', actor: 'remote', code: 'server-error', retry: 'later' };

/**
 * An answer that is not a success, as an error of the whole target. Nothing of the answer's sentences goes into it: they repeat
 * values that were sent.
 */
export function toMirrorError(answer: WireAnswer, time: AnswerTime): MirrorError {
  const refusal = readRefusal(answer.status, answer.body);
  if (answer.status === 403 && refusal.category === 'MISSING_SCOPES') return scopeMissing(refusal.scopes);
  if (answer.status === 429 && refusal.policy === 'DAILY') return dailyLimit(answer, time);
  const { message, pauseMs, ...rest } = meaningOf(answer.status);
  const waitMs = answer.retryAfterMs ?? pauseMs;
  return new MirrorError(message, {
    ...rest,
    status: answer.status,
    ambiguous: answer.status >= 500,
    ...(waitMs === undefined ? {} : { retryAfterMs: Math.max(waitMs, pauseMs === LOCK_PAUSE_MS ? pauseMs : 0) }),
  });
}

function meaningOf(status: number): Meaning {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500) return IN_TROUBLE;
  if (status >= 400) return BY_STATUS[400]!;
  return { message: 'unknown status', actor: 'contract', code: 'unexpected-status', retry: 'later' };
}

function dailyLimit({ status, retryAfterMs }: WireAnswer, { at, zone }: AnswerTime): MirrorError {
  return new MirrorError("the account's daily allowance of requests at HubSpot is spent", {
    actor: 'remote',
    code: 'account-daily-limit',
    retry: 'later',
    status,
    retryAfterMs: retryAfterMs ?? (zone === null ? DAILY_PAUSE_MS : untilMidnightMs(at, zone) + MIDNIGHT_SPARE_MS),
    remedy: 'it begins again at midnight of the account; all its private apps share it',
  });
}

/** From an instant to the next midnight of a zone, in milliseconds. */
export function untilMidnightMs(at: Instant, zone: string): number {
  const offset = offsetMs(zone, at);
  const localMidnight = (Math.floor((at + offset) / DAY_MS) + 1) * DAY_MS;
  return localMidnight - offsetMs(zone, localMidnight - offset) - at;
}

/** The login lacks permissions, in general or for the values of sensitive properties. */
export function scopeMissing(scopes: readonly string[], properties: readonly string[] = []): MirrorError {
  const which = scopes.length > 0 ? `the permissions ${scopes.join(', ')}` : 'permissions that are needed';
  const what = properties.length > 0 ? ` for the sensitive properties ${properties.join(', ')}` : '';
  return new MirrorError(`HubSpot did not grant the login ${which}${what}`, {
    actor: 'authorization',
    code: 'scope-missing',
    retry: 'never',
    status: 403,
    remedy:
      'add them to the app in HubSpot and connect again, or take the properties that need them out of the mapping',
  });
}

/** The mapping names properties that HubSpot does not have. */
export function propertiesMissing(object: ObjectName, names: readonly string[]): MirrorError {
  return new MirrorError(`HubSpot has no property ${names.join(', ')} of ${object}`, {
    actor: 'settings',
    code: 'crm-property-missing',
    retry: 'never',
    remedy: 'create the properties in HubSpot, or correct their names in the mapping: internal names, not labels',
  });
}

/** The mapping names properties that only HubSpot itself fills. */
export function propertiesReadOnly(object: ObjectName, names: readonly string[]): MirrorError {
  return new MirrorError(`HubSpot fills the property ${names.join(', ')} of ${object} itself`, {
    actor: 'settings',
    code: 'property-read-only',
    retry: 'never',
    remedy: 'take the properties out of the mapping, or map to others',
  });
}

/** Properties can't hold what is to be written into them. */
export function propertiesUnsuitable(object: ObjectName, names: readonly string[], wanted: string): MirrorError {
  return new MirrorError(`the property ${names.join(', ')} of ${object} in HubSpot is not ${wanted}`, {
    actor: 'settings',
    code: 'property-unsuitable',
    retry: 'never',
    remedy: 'map to properties of the right type, or change what the mapping gives; our own need names of their own',
  });
}

/** A property of ours is absent and HubSpot doesn't let us make it. */
export function propertyNotMade(object: ObjectName, name: string, status: number): MirrorError {
  return new MirrorError(`HubSpot refused to make the property ${name} of ${object}`, {
    actor: 'settings',
    code: 'property-not-made',
    retry: 'never',
    status,
    remedy:
      'there may be at most ten unique properties of a kind of record, and no archived one of this name; make room, or give another name',
  });
}

/** Why HubSpot refused one object. `known`: names of the properties that were sent; no other word of the answer is repeated. */
export function toRowError(refusal: Refusal, object: ObjectName, known: ReadonlySet<string>): MirrorError {
  const { status, codes } = refusal;
  const names = refusal.properties.filter((name) => known.has(name));
  if (refusal.category === 'MISSING_SCOPES') return scopeMissing(refusal.scopes);
  if (codes.includes('PROPERTY_DOESNT_EXIST')) return propertiesMissing(object, names);
  if (codes.includes('READ_ONLY_VALUE')) return propertiesReadOnly(object, names);
  if (codes.includes('INVALID_OPTION')) return optionMissing(object, names);
  if (refusal.category === 'RATE_LIMITS' || status >= 500) {
    return toMirrorError({ status: status >= 500 ? status : 429, body: null, retryAfterMs: null }, NO_TIME);
  }
  if (refusal.isTaken) return valueTaken(object, names);
  return new MirrorError(`HubSpot refused the value of ${names.join(', ') || 'a property'} of ${object}`, {
    actor: 'settings',
    code: 'property-value-refused',
    retry: 'never',
    status,
    remedy: "correct the value in the clinic's record, or let the mapping give what HubSpot takes",
  });
}

const NO_TIME: AnswerTime = { at: 0, zone: null };

function optionMissing(object: ObjectName, names: readonly string[]): MirrorError {
  return new MirrorError(`HubSpot knows no such option of ${names.join(', ') || 'a property'} of ${object}`, {
    actor: 'settings',
    code: 'property-option-missing',
    retry: 'never',
    remedy: 'add the option to the property in HubSpot, or let the mapping give one that is there',
  });
}

function valueTaken(object: ObjectName, names: readonly string[]): MirrorError {
  return new MirrorError(`another of the ${object} in HubSpot has the same ${names.join(', ') || 'unique value'}`, {
    actor: 'settings',
    code: 'unique-value-taken',
    retry: 'never',
    status: 409,
    remedy:
      'let a person look which record is right; a value that families share does not belong into a unique property',
  });
}

/** Another worker made the record of our key at the same moment. */
export function keyTakenMeanwhile(): MirrorError {
  const { message, ...rest } = BY_STATUS[409]!;
  return new MirrorError(message, { ...rest, status: 409 });
}

/** The contact that an activity or a deal belongs to is not there, or not yet. */
export function contactMissing(): MirrorError {
  return new MirrorError("the patient's contact is not in HubSpot yet", {
    actor: 'remote',
    code: 'contact-missing',
    retry: 'later',
    remedy: "see that the patients' target is in sync; a contact that people merged or deleted is missing too",
  });
}

/** A whole batch was refused, and the rows that spoil it were not found within the allowance. */
export function batchRefused(status: number): MirrorError {
  return new MirrorError('HubSpot refused the batch for some of its rows', {
    actor: 'remote',
    code: 'batch-refused',
    retry: 'later',
    status,
  });
}

/** A batch's answer says nothing of a row; it may have been written. */
export function answerMissing(): MirrorError {
  return new MirrorError('the answer to a batch lacks a row', {
    actor: 'remote',
    code: 'answer-missing',
    retry: 'later',
    ambiguous: true,
  });
}

/** A successful answer has a shape that we do not know. */
export function unexpectedAnswer(): MirrorError {
  return new MirrorError('HubSpot answered something else than its API would', {
    actor: 'contract',
    code: 'unexpected-answer',
    retry: 'later',
    ambiguous: true,
  });
}

/** @throws MirrorError for a success that is not the one of a call which answers with 204 and nothing else: HubSpot did not say so */
export function requireNothing({ status }: WireAnswer): void {
  if (status !== 204) throw unexpectedAnswer();
}

/** The target was opened without saying what it follows. */
export function crmPartMissing(): MirrorError {
  return new MirrorError('a target in HubSpot needs its part crm', {
    actor: 'settings',
    code: 'crm-part-missing',
    retry: 'never',
    remedy: 'give the target its crm part: stream and mapping',
  });
}
