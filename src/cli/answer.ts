import { type Command, InvalidArgumentError } from 'commander';
import type { Installation } from '../control/installation.ts';
import { toJson } from '../operations/schemas.ts';
import { inZone, withOutputOptions } from './paper.ts';

/** How an answer is wanted: the options of its command. */
export interface Asked {
  json?: boolean;
  /** Most rows of each list, where lists may be long; whoever reads JSON gets all. */
  limit?: number;
  all?: boolean;
}

/**
 * Prints an answer.
 * @param value what is told as JSON
 * @param render the same as text
 * @param zone in which the text tells times; null or absent: UTC
 */
export type Print = (asked: Asked, value: object, render: () => string, zone?: string | null) => void;

/** Prints by these. @param isUtc whether all times are wanted in UTC */
export function printer(out: (text: string) => void, isUtc: () => boolean): Print {
  return ({ json = false, limit, all = false }, value, render, zone = null) => {
    if (json) return out(toJson(value));
    const mostRows = all || limit === 0 ? Number.POSITIVE_INFINITY : (limit ?? null);
    const text = withOutputOptions({ mostRows }, () => inZone(isUtc() ? null : zone, render));
    if (text !== '') out(text);
  };
}

/** The zone of a clinic; that of all, where none is named and they share one; else null. */
export function zoneOf({ outlines }: Pick<Installation, 'outlines'>, tenant?: string): string | null {
  if (tenant !== undefined) return outlines.get(tenant)?.zone ?? null;
  const zones = new Set([...outlines.values()].map(({ zone }) => zone));
  return zones.size === 1 ? ([...zones][0] ?? null) : null;
}

/** Lets a person say how many rows of a list are shown. */
export function paged(command: Command, about = 'most rows of each list'): Command {
  return command.option('--limit <count>', about, wholeNumber).option('--all', 'every row of each list');
}

/** A number among the arguments. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('write a whole number');
}
