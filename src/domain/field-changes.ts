import type { CalendarItem, CrmItem, Item, ItemTime, Presets, PropertyValue } from '../core/model/items.ts';
import { type FieldChange, type FieldValue, NOTHING_THERE, UNREAD, WITHHELD } from '../core/model/plan-view.ts';
import { UNKNOWN_FIELD } from '../engine/identity.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import { plainTexts } from '../settings/event-fields.ts';
import type { TargetSetup } from './cycle-input.ts';
import { APPOINTMENT_WORDS, type Directory } from './project.ts';

/** Effect of a change on an object: known differing fields, and the content after the change. */
export interface ChangedObject {
  fields: readonly string[];
  /** Null for no object. */
  wanted: Item | null;
  /** Current content in the target: null for no object, `unread` if not requested or unreadable. */
  held: Item | null | 'unread';
}

/** Returns the fields of a change to one target. */
export type DescribeFields = (change: ChangedObject) => FieldChange[];

/** Titles of these levels contain no patient data. */
const PLAIN_TITLES: ReadonlySet<TargetConfiguration['title']> = new Set(['busy', 'appointment', 'code']);
/** A title of the level `code`: a fixed word, and the beginning of a key. */
const CODE = / [0-9A-V]{4}$/;

/** Returns whether a target's titles contain no patient data. */
export function hasPlainTitles({ title }: Pick<TargetConfiguration, 'title'>): boolean {
  return PLAIN_TITLES.has(title);
}

/**
 * Returns a function that lists a change's fields before and after, without patient data. Texts are shown only if they come from the
 * clinic's catalogue or from clinic-mirror, whoever wrote them. CRM properties are shown only if the mapping defines their texts.
 */
export function fieldTeller(
  { configuration, crm }: Pick<TargetSetup, 'configuration' | 'crm'>,
  directory: Directory,
): DescribeFields {
  const isPlain = plainTexts(directory);
  const valuesOf = (item: Item, isOurs: boolean): Map<string, FieldValue> =>
    crm === null
      ? valuesOfEvent(item as CalendarItem, { configuration, isPlain, isOurs })
      : valuesOfObject(item as CrmItem, crm.mapping);
  return ({ fields, wanted, held }) => {
    const after = wanted === null ? null : valuesOf(wanted, true);
    const before = held === null || held === 'unread' ? held : valuesOf(held, false);
    const disclosed = fieldsOf(fields, before, after);
    return disclosed.map((field) => ({ field, before: valueIn(before, field), after: valueIn(after, field) }));
  };
}

type Mapped = NonNullable<TargetSetup['crm']>['mapping'];
type Values = ReadonlyMap<string, FieldValue>;

/** Returns the differing fields, or all fields of a created or deleted object. Fields with hidden values differ if the plan lists them. */
function fieldsOf(fields: readonly string[], before: Values | null | 'unread', after: Values | null): string[] {
  if (before !== 'unread' && before !== null && after !== null) {
    return [...new Set([...before.keys(), ...after.keys()])].filter((field) => {
      const values = [valueIn(before, field), valueIn(after, field)];
      if (values.some(({ kind }) => kind === 'withheld'))
        return fields.includes(field) || fields.includes(UNKNOWN_FIELD);
      return JSON.stringify(values[0]) !== JSON.stringify(values[1]);
    });
  }
  if (before === 'unread' && fields.length > 0) return fields.filter((field) => field !== UNKNOWN_FIELD);
  const there = before === 'unread' ? after : (before ?? after);
  return [...(there ?? [])].flatMap(([field, { kind }]) => (kind === 'none' ? [] : [field]));
}

function valueIn(values: Values | null | 'unread', field: string): FieldValue {
  if (values === 'unread') return UNREAD;
  return values === null ? NOTHING_THERE : (values.get(field) ?? WITHHELD);
}

interface DisclosureContext {
  configuration: TargetConfiguration;
  /** Whether a text comes from the clinic's catalogue or from clinic-mirror. */
  isPlain: (text: string) => boolean;
  /** The text is an expected title, not the calendar's title. */
  isOurs: boolean;
}

/** Returns values by the field names of `CALENDAR_FORM`. */
function valuesOfEvent(event: CalendarItem, context: DisclosureContext): Map<string, FieldValue> {
  const { title, description, location, time, busy, tentative, visibility, presets } = event;
  const { isPlain } = context;
  return new Map<string, FieldValue>([
    ['time', timeValue(time)],
    ['title', titleValue(title, context)],
    ['location', textValue(location, (text) => (isPlain(text) ? text : null))],
    ['description', textValue(description, (text) => plainLines(text, isPlain))],
    ['busy', { kind: 'text', text: busy ? 'busy' : 'free' }],
    ['tentative', { kind: 'text', text: tentative === true ? 'yes' : 'no' }],
    ['visibility', { kind: 'text', text: visibility ?? 'private' }],
    ['presets', presetsValue(presets, context.configuration)],
  ]);
}

function timeValue(time: ItemTime): FieldValue {
  if (time.kind === 'all-day') return { kind: 'days', startDate: time.startDate, endDate: time.endDate };
  return { kind: 'time', startAt: Date.parse(time.start), endAt: Date.parse(time.end) };
}

/**
 * Returns a text as far as it may be shown.
 * @param disclose null for a text that must be hidden
 */
function textValue(text: string | null, disclose: (text: string) => string | null): FieldValue {
  if (text === null || text === '') return NOTHING_THERE;
  const disclosed = disclose(text);
  return disclosed === null ? WITHHELD : { kind: 'text', text: disclosed };
}

/** A calendar's title has an unknown author: only fixed words of clinic-mirror are shown. */
function titleValue(title: string, { configuration, isOurs }: DisclosureContext): FieldValue {
  const isPlain = isOurs ? hasPlainTitles(configuration) : APPOINTMENT_WORDS.includes(title.replace(CODE, ''));
  return textValue(title, (text) => (isPlain ? text : null));
}

function plainLines(text: string, isPlain: (text: string) => boolean): string | null {
  const lines = text.split('\n');
  const disclosed = lines.map((line) => (isPlain(line) ? line : '…'));
  return disclosed.every((line) => line === '…') ? null : disclosed.join(', ');
}

/** Returns colour, category and reminder. A category missing from the target's settings was set manually. */
function presetsValue(presets: Presets | undefined, { labels }: TargetConfiguration): FieldValue {
  if (presets === undefined) return NOTHING_THERE;
  const { colour, category, reminderMinutes } = presets;
  const isNamed = labels.some((label) => label.category === category);
  const minutes =
    reminderMinutes === undefined || reminderMinutes === 'none' ? reminderMinutes : `${reminderMinutes} min`;
  const disclosed = [colour, isNamed ? category : undefined, minutes].filter((each) => each !== undefined);
  return disclosed.length === 0 ? WITHHELD : { kind: 'text', text: disclosed.join(', ') };
}

function valuesOfObject(
  { properties, contactKey, startAt }: CrmItem,
  mapping: Pick<Mapped, 'properties'>,
): Map<string, FieldValue> {
  const values = new Map<string, FieldValue>();
  for (const { name, words } of mapping.properties) values.set(name, propertyValue(properties[name] ?? null, words));
  values.set('contact', contactKey === null ? NOTHING_THERE : WITHHELD);
  values.set('start', startAt === 0 ? NOTHING_THERE : { kind: 'time', startAt, endAt: startAt });
  return values;
}

function propertyValue(value: PropertyValue, words: readonly string[] | undefined): FieldValue {
  if (value === null || value === '') return NOTHING_THERE;
  if (typeof value === 'boolean') return { kind: 'text', text: value ? 'yes' : 'no' };
  return typeof value === 'string' && words?.includes(value) === true ? { kind: 'text', text: value } : WITHHELD;
}
