import type { Moment, Service } from '../world/gates.ts';
import type { Draw, Given } from './fault.ts';

/** How many awaits of a service there are in a busy cycle, about. */
const USUAL: Readonly<Record<Service, number>> = {
  clinic: 12,
  google: 5,
  graph: 8,
  caldav: 12,
  hubspot: 6,
  salesforce: 4,
  sms: 1,
  redis: 160,
};
const PLACES: readonly Service[] = ['clinic', 'google', 'graph', 'caldav', 'caldav', 'hubspot', 'salesforce', 'redis'];

/** A drawn moment, as recorded in a script. */
export type DrawnMoment = Given & { service: string; skip: number; side: string; fresh: boolean; write: boolean };

/** Draws a moment. @param services where it may be */
export function drawMoment(draw: Draw, services: readonly Service[] = PLACES): DrawnMoment {
  const service = draw.pick(services);
  const fresh = draw.chance(0.4);
  return {
    service,
    fresh,
    write: draw.chance(0.5),
    skip: draw.upTo(fresh ? 6 : USUAL[service]),
    side: draw.pick(['before', 'after']),
  };
}

/** The moment that a script names. */
export function momentOf({ service, skip, side, fresh, write }: DrawnMoment): Moment {
  return { service: service as Service, skip, side: side === 'after' ? 'after' : 'before', fresh, write };
}
