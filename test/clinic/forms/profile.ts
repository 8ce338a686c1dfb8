import { APPOINTMENT_STATUSES } from '../../../src/core/model/records.ts';
import type { WrittenProfile } from '../open-client.ts';
import {
  type EnvelopeForm,
  FLAGS,
  type Form,
  hasNumbers,
  type ListName,
  type PagingForm,
  STATUS_VALUES,
  unitOf,
} from './form.ts';
import { isFlags } from './meant.ts';
import { contactPaths } from './row-form.ts';
import { FLAG_VALUES, pathOf, statusPathOf, tenantPathOf } from './told.ts';
import { tenantsAt } from './user-form.ts';

/** Lead before a window for a clinic that filters by start: no appointment lasts longer. */
const LEAD_HOURS = 24 * 5;

/** The profile that an operator would write for a form. */
export function profileIn(form: Form): WrittenProfile {
  const at = (field: string) => pathsIn(form, pathOf(form, field));
  return {
    zone: form.zone,
    epochUnit: hasNumbers(form) ? form.epochUnit : null,
    paging: { style: 'none' },
    listPath: form.global.list,
    recordPath: form.global.record,
    tenants: userTenants(form),
    agendas: {
      ...listIn(form, 'agendas'),
      fields: {
        id: at('id'),
        name: at('name'),
        doctorId: at('doctorId'),
        isActive: at('isActive'),
        ...placesIn(form, ['locationId', 'zone']),
      },
    },
    locations: { ...listIn(form, 'locations'), fields: { id: at('id'), name: at('name'), zone: at('zone') } },
    patients: {
      ...listIn(form, 'patients'),
      ...deletionIn(form),
      ...(form.rows.fullName === null ? {} : { fullName: fullNameAt(form, 'name') }),
      fields: {
        id: at('id'),
        ...namesIn(form, 'firstName', 'lastName'),
        phone: pathsIn(form, contactPaths(form).phone),
        email: pathsIn(form, contactPaths(form).email),
        birthDate: at('birthDate'),
        isActive: at('isActive'),
      },
      consents: { mail: at('mail') },
    },
    appointments: appointmentsIn(form),
    writes: { times: writtenTimes(form) },
  };
}

function userTenants(form: Form): NonNullable<WrittenProfile['tenants']> {
  const { path, id, name } = tenantsAt(form.user);
  return {
    path,
    fields: {
      ...(id === null ? {} : { id: pathsIn(form, id) }),
      ...(name === null ? {} : { name: pathsIn(form, name) }),
    },
  };
}

/** Paths of names in two fields. */
function namesIn<Name extends string>(form: Form, ...names: Name[]) {
  const paths = (name: Name) => (form.rows.fullName === null ? pathsIn(form, pathOf(form, name)) : []);
  return Object.fromEntries(names.map((name) => [name, paths(name)])) as Record<Name, string[]>;
}

function fullNameAt(form: Form, field: string) {
  const { order, separator } = form.rows.fullName ?? { order: 'given-first', separator: ',' };
  return { path: pathOf(form, field), order, separator };
}

function placesIn<Name extends string>(form: Form, names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, pathsIn(form, pathOf(form, name))])) as Record<Name, string[]>;
}

function deletionIn(form: Form): Pick<NonNullable<WrittenProfile['patients']>, 'deletedFlags'> {
  const { tombstones, raised } = form.rows;
  if (tombstones !== 'bare' && tombstones !== 'whole') return {};
  if (raised === 'yes') return { deletedFlags: [{ path: pathOf(form, 'isDeleted'), when: true }] };
  return {
    deletedFlags: [
      raised === 'time'
        ? { path: pathOf(form, 'deletedAt'), when: 'present' }
        : { path: pathOf(form, 'record.state'), when: ['Removed', 'Gone'] },
    ],
  };
}

function appointmentsIn(form: Form): NonNullable<WrittenProfile['appointments']> {
  const { filters, agendas, format, toIncluded, maxDays, agendasPerCall } = form.window;
  const at = (field: string) => pathsIn(form, pathOf(form, field));
  const isWindowed = filters !== 'none';
  return {
    ...listIn(form, 'appointments'),
    ...statusesIn(form),
    ...deletionIn(form),
    ...(form.rows.fullName === null ? {} : { patientFullName: fullNameAt(form, 'patientName') }),
    fields: {
      id: at('id'),
      agendaId: at('agendaId'),
      patientId: at('patientId'),
      ...namesIn(form, 'patientFirstName'),
      ...placesIn(form, ['locationId', 'zone']),
      start: momentIn(form, 'start'),
      end: form.end === 'end' ? momentIn(form, 'end') : [],
      duration: form.end === 'end' ? [] : at('lasts'),
      allDay: at('isWholeDay'),
      updatedAt:
        form.apart?.isEverywhere === true
          ? [`${pathOf(form, 'changedDay')} + ${pathOf(form, 'changedTime')}`]
          : at('updatedAt'),
      status: isFlags(form.status) ? [] : pathsIn(form, statusPathOf(form)),
    },
    numbers: [
      ...(form.ids === 'number' ? ['id', 'agendaId', 'patientId', 'locationId'] : []),
      ...(['numbers', 'signed'].includes(form.status) ? ['status'] : []),
    ],
    durationUnit: form.end === 'seconds' ? 'seconds' : 'minutes',
    allDayEnd: form.allDayEnd,
    filters: {
      from: isWindowed ? 'begin' : null,
      to: isWindowed ? 'until' : null,
      agenda: agendas === 'none' ? null : 'cal',
    },
    window: { format, toIncluded, maxDays, leadHours: filters === 'start' ? LEAD_HOURS : 0 },
    agendaFilter: { style: agendas === 'comma' ? 'comma' : 'repeated', maxPerCall: agendasPerCall },
  };
}

/** Paths that hold what is meant, if need be behind one that leads nowhere. */
function pathsIn({ hasDetours }: Form, path: string): string[] {
  return hasDetours ? ['nowhere.to.be', path] : [path];
}

function momentIn(form: Form, name: 'start' | 'end'): string[] {
  if (form.apart === null) return pathsIn(form, pathOf(form, name));
  const day = name === 'end' && !form.apart.isShared ? 'endDay' : 'day';
  return pathsIn(form, `${pathOf(form, day)} + ${pathOf(form, `${name}Time`)}`);
}

function statusesIn(
  form: Form,
): Pick<NonNullable<WrittenProfile['appointments']>, 'statuses' | 'flags' | 'statusMissing'> {
  if (isFlags(form.status)) {
    const when =
      form.status === 'flags-as-times' ? 'present' : [FLAG_VALUES[form.status as keyof typeof FLAG_VALUES][0]];
    return {
      statuses: {},
      statusMissing: 'booked',
      flags: FLAGS.map(([name, status]) => ({ path: pathOf(form, name), when, status })),
    };
  }
  const values = STATUS_VALUES[form.status as keyof typeof STATUS_VALUES];
  const named = APPOINTMENT_STATUSES.flatMap((status) => {
    const value = values[status];
    return value === undefined || status === 'unknown' ? [] : [[respelled(String(value)), status] as const];
  });
  return { statuses: Object.fromEntries(named), flags: [] };
}

/** A word in another spelling, as an operator might write it. */
function respelled(word: string): string {
  return word.length > 2 ? word.toLowerCase().replace('-', '_') : word;
}

function listIn(form: Form, name: ListName) {
  const envelope = form.lists[name];
  const tenant = tenantPathOf(form);
  const isUsual = ['.', 'data', 'items', name].includes(envelope.list);
  const isLeft = envelope.isFound && form.global.list === null && isUsual;
  return {
    tenantId: tenant === null ? [] : [tenant],
    listPath: isLeft || envelope.list === form.global.list ? null : envelope.list,
    recordPath: envelope.record === (form.global.record ?? '.') ? null : envelope.record,
    repeats: envelope.repeats,
    paging: pagingIn(envelope),
  };
}

/** Location of a paging value in a response. */
export function placeIn({ list, paging }: EnvelopeForm, name: 'more' | 'total' | 'cursor' | 'link'): string {
  if (paging.where === 'range' && name === 'total') return 'header:Content-Range';
  return list === '.' || paging.where !== 'body' ? `header:X-Page-${name}` : `page.${name}`;
}

function pagingIn(envelope: EnvelopeForm): NonNullable<WrittenProfile['paging']> {
  const { paging } = envelope;
  const told = {
    hasMorePath: paging.end === 'has-more' ? placeIn(envelope, 'more') : null,
    totalPath: paging.end === 'total' ? placeIn(envelope, 'total') : null,
  };
  if (paging.style === 'none') return { style: 'none', ...told, cap: 1_000_000 };
  const size = paging.isSizeKnown ? { size: paging.size, cap: paging.end === 'short' ? paging.size : null } : {};
  const common = { ...told, ...size, ends: [END_RULES[paging.end]] };
  const sizeParameter = paging.isSized ? 'n' : null;
  switch (paging.style) {
    case 'offset':
      return {
        style: 'offset-limit',
        ...common,
        offsetParameter: 'skip',
        limitParameter: 'n',
        startIndex: paging.startIndex,
      };
    case 'page':
      return { style: 'page-size', ...common, pageParameter: 'p', sizeParameter: 'n', startIndex: paging.startIndex };
    case 'cursor':
      return {
        style: 'cursor',
        ...common,
        sizeParameter,
        cursorParameter: 'after',
        cursorPath: placeIn(envelope, 'cursor'),
      };
    case 'link':
      return { style: 'next-link', ...common, sizeParameter, linkPath: placeIn(envelope, 'link') };
    case 'link-header':
      return { style: 'link-header', ...common, sizeParameter };
  }
}

const END_RULES = {
  'has-more': 'has-more',
  total: 'total',
  short: 'short-page',
  empty: 'empty-page',
  next: 'no-next',
} as const satisfies Record<PagingForm['end'], string>;

type WrittenTimes = NonNullable<NonNullable<WrittenProfile['writes']>['times']>;

/** The form of times in what is written that is the nearest to the clinic's. */
function writtenTimes({ times, epochUnit }: Form): WrittenTimes {
  if (unitOf(times) !== null) return epochUnit === 'ms' ? 'epoch-ms' : 'epoch-seconds';
  if (times === 'local-space' || times === 'utc') return times;
  return times.startsWith('local') ? 'local' : 'offset';
}
