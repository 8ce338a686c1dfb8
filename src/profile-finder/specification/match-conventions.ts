import { folded } from '../../clinic/http/rows.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { type Compared, Comparison } from './findings.ts';
import { spotsOf } from './match-fields.ts';
import type { EpochUnit, ValueSchema } from './schemas.ts';
import type { SpecifiedOperation } from './specification.ts';

const CODES = ['error', 'code', 'errorcode', 'errorkey', 'type', 'title', 'codice'];
const TEXTS = [
  'message',
  'errormessage',
  'errordescription',
  'detail',
  'text',
  'description',
  'msg',
  'messaggio',
  'descrizione',
];

/** Where failures hold their word and their text. */
export function compareErrors(operations: readonly SpecifiedOperation[], { errors }: ClinicProfile): Compared {
  const comparison = new Comparison();
  const bodies = operations.flatMap(({ failures }) => [...failures.values()]).filter(({ members }) => members.size > 0);
  if (bodies.length === 0) {
    const told = { area: 'errors', place: 'errors', here: '–', there: '–' } as const;
    comparison.undecided({ ...told, ask: 'what do answers of 4xx hold? The document does not say' });
    return comparison;
  }
  for (const [key, known] of [['codePaths', CODES] as const, ['textPaths', TEXTS] as const]) {
    const found = [...new Set(bodies.flatMap((body) => pathsOf(body, known)))];
    const path = ['errors', key];
    const told = {
      area: 'errors',
      place: path.join('.'),
      here: errors[key].join(', '),
      there: found.join(', ') || '–',
    } as const;
    const missing = found.filter((each) => !errors[key].includes(each));
    if (found.length === 0)
      comparison.undecided({ ...told, ask: 'where do its errors hold a word for machines, and a text?' });
    else if (missing.length === 0) comparison.fits(told);
    else {
      const value = [...found, ...errors[key].filter((each) => !found.includes(each))].slice(0, 10);
      comparison.differs(told, { path, value, comment: `also ${missing.join(', ')}` });
    }
  }
  const told = {
    area: 'errors',
    place: 'errors.missingClaim',
    here: errors.missingClaim.join(', '),
    there: '–',
  } as const;
  const ask = 'how does a 403 for a missing scope differ from one for a missing permission of the user?';
  comparison.undecided({ ...told, ask });
  return comparison;
}

function pathsOf(body: ValueSchema, known: readonly string[]): string[] {
  const spots = spotsOf(body).filter(({ schema }) => schema.type === 'string');
  return known.flatMap((name) =>
    spots.filter(({ path }) => folded(path.split('.').at(-1) ?? '') === name).map(({ path }) => path),
  );
}

/** In which form what is written should be: that in which it is told. */
export function compareWrites(routes: ReadonlyMap<string, SpecifiedOperation>, { writes }: ClinicProfile): Compared {
  const comparison = new Comparison();
  const body = [...(routes.get('appointments.create')?.bodies.values() ?? [])][0];
  const spots = body === undefined ? [] : spotsOf(body);
  const times = spots.filter(({ schema }) => schema.format === 'date-time');
  const epoch = spots.find(({ schema }) => schema.epochUnit !== null)?.schema.epochUnit ?? null;
  const examples = times.flatMap(({ schema }) => (typeof schema.example === 'string' ? [schema.example] : []));
  const there = epochForm(epoch) ?? formOf(examples);
  const told = { area: 'times', place: 'writes.times', here: writes.times, there: there ?? '–' } as const;
  if (there !== null && there !== writes.times) {
    comparison.differs(
      { ...told, certainty: 'likely' },
      {
        path: ['writes', 'times'],
        value: there,
        comment: epoch === null ? 'by its examples' : 'numbers in bodies too',
      },
    );
  } else if (there !== null) comparison.fits(told);
  const amounts = [...(routes.get('appointments.setPayment')?.bodies.values() ?? [])].flatMap((schema) =>
    spotsOf(schema).filter(({ path }) => ['amount', 'importo'].includes(folded(path))),
  );
  const [amount] = amounts;
  if (amount === undefined) return comparison;
  const form = amount.schema.type === 'string' ? 'text' : 'number';
  const money = { area: 'times', place: 'writes.decimals', here: writes.decimals, there: form } as const;
  if (form === writes.decimals) comparison.fits(money);
  else comparison.differs(money, { path: ['writes', 'decimals'], value: form, comment: `not ${writes.decimals}` });
  return comparison;
}

/** The form of times that are numbers; null for none. */
export function epochForm(unit: EpochUnit | null): ClinicProfile['writes']['times'] | null {
  return unit === null ? null : `epoch-${unit}`;
}

/** The form of times by examples of them; null when they don't agree or there are none. */
export function formOf(examples: readonly string[]): ClinicProfile['writes']['times'] | null {
  const forms = new Set(examples.map(formOfOne));
  const [form] = forms;
  return forms.size === 1 ? (form ?? null) : null;
}

function formOfOne(example: string): ClinicProfile['writes']['times'] | null {
  if (/T[\d:.]+Z$/i.test(example)) return 'utc';
  if (/T[\d:.]+[+-]\d\d:?\d\d$/.test(example)) return 'offset';
  if (/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(example)) return 'local';
  return /^\d{4}-\d\d-\d\d [\d:.]+$/.test(example) ? 'local-space' : null;
}

/** How a report is sent. */
export function compareUpload(create: SpecifiedOperation | undefined, profile: ClinicProfile): Compared {
  const comparison = new Comparison();
  const { upload } = profile.medicalReports;
  const [entry] = [...(create?.bodies ?? [])].sort(([a], [b]) => Number(isForm(b)) - Number(isForm(a)));
  if (entry === undefined) return comparison;
  const [type, { members }] = entry;
  const style = isForm(type) ? 'multipart' : 'base64';
  const set = (key: 'style' | 'filePart' | 'metadata' | 'metadataPart', there: string) => {
    const told = { area: 'fields', place: `medicalReports.upload.${key}`, here: upload[key], there } as const;
    if (upload[key] === there) return comparison.fits(told);
    comparison.differs(told, { path: ['medicalReports', 'upload', key], value: there, comment: `not ${upload[key]}` });
  };
  set('style', style);
  const isFile = ({ format }: ValueSchema) => format === 'binary' || format === 'byte' || format === 'base64';
  const file = [...members].find(([, schema]) => isFile(schema))?.[0];
  if (file !== undefined) set('filePart', file);
  if (style === 'base64' || file === undefined) return comparison;
  const others = [...members].filter(([name]) => name !== file);
  const [other] = others;
  if (other === undefined) return comparison;
  const isPart = others.length === 1 && (other[1].type === 'object' || other[0] === upload.metadataPart);
  set('metadata', isPart ? 'part' : 'fields');
  if (isPart) set('metadataPart', other[0]);
  return comparison;
}

function isForm(type: string): boolean {
  return type.startsWith('multipart/');
}
