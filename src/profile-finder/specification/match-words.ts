import { folded } from '../../clinic/http/rows.ts';
import { isNested, type Shape } from '../../clinic/schema/fields.ts';
import { type Compared, Comparison } from './findings.ts';
import { spotsOf } from './match-fields.ts';
import type { ValueSchema } from './schemas.ts';

const words = (text: string) => text.split(' ');

/** Words of other choices that are known by another name, folded. */
const CHOICE_WORDS: Readonly<Record<string, readonly string[]>> = {
  M: words('m male man maschio uomo'),
  F: words('f female woman femmina donna'),
  Other: words('other x o altro'),
  Unknown: words('unknown u nonspecificato sconosciuto'),
  Doctor: words('doctor physician practitioner medico dottore'),
  Resource: words('resource room device risorsa stanza'),
  Workstation: words('workstation desk postazione'),
  Service: words('service procedure prestazione servizio'),
  Product: words('product article prodotto articolo'),
  FrontDesk: words('frontdesk desk reception segreteria sportello'),
  Online: words('online web portal portale'),
  Api: words('api integration esterno'),
  Open: words('open opened aperto aperta'),
  InProgress: words('inprogress ongoing incorso'),
  Closed: words('closed done chiuso chiusa'),
  Cancelled: words('cancelled canceled void annullato annullata'),
  Draft: words('draft bozza'),
  Final: words('final definitivo'),
  Signed: words('signed firmato'),
  Replaced: words('replaced superseded sostituito'),
  Invoice: words('invoice fattura'),
  CreditNote: words('creditnote notacredito notadicredito'),
  Receipt: words('receipt ricevuta'),
  Issued: words('issued sent emessa emesso'),
  PartiallyPaid: words('partiallypaid partpaid parzialmentepagata pagataparzialmente'),
  Paid: words('paid settled pagata pagato saldata'),
};

/** Compares the words of a resource's other choices. @param pathOf where a field was found */
export function compareChoices(
  list: string,
  shape: Shape,
  row: ValueSchema,
  now: Readonly<Record<string, Readonly<Record<string, string | null>>>>,
  pathOf: (field: string) => string | null,
): Compared {
  const comparison = new Comparison();
  const spots = new Map(spotsOf(row).map(({ path, schema }) => [path, schema]));
  for (const [field, one] of Object.entries(shape)) {
    const path = pathOf(field);
    const told = path === null ? null : (spots.get(path)?.words ?? null);
    if (isNested(one) || one.words === undefined || told === null) continue;
    const left = new Set(told);
    for (const ours of one.words) {
      const here = now[field]?.[ours] ?? null;
      const there = told.find((word) => word === here) ?? told.find((word) => meansSame(ours, word)) ?? null;
      if (there !== null) left.delete(there);
      const place = [list, 'words', field, ours];
      const said = { area: 'words', place: place.join('.'), here: here ?? '(none)', there: there ?? '–' } as const;
      if (there === here) comparison.fits(said);
      else if (there === null) comparison.differs(said, { path: place, value: null, comment: 'it has no such word' });
      else {
        const certainty = folded(there) === folded(ours) ? 'sure' : 'likely';
        comparison.differs({ ...said, certainty }, { path: place, value: there, comment: `not ${here}` });
      }
    }
    for (const word of left) {
      const said = { area: 'words', place: `${list}.words.${field}`, here: '–', there: word } as const;
      comparison.undecided({ ...said, ask: `what does "${word}" mean in ${path}? It is kept as it is.` });
    }
  }
  return comparison;
}

function meansSame(ours: string, word: string): boolean {
  return folded(word) === folded(ours) || (CHOICE_WORDS[ours] ?? []).includes(folded(word));
}
