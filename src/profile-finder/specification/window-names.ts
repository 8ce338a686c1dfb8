import { folded } from '../../clinic/http/rows.ts';

/** What a parameter says of a window by its name: which end of it, and whether of the appointments' own start. */
export interface WindowName {
  end: 'from' | 'to';
  /** It speaks of the start of appointments, as `starts_from` does: it lists what starts in the window, not what overlaps it. */
  isOfStart: boolean;
}

const words = (text: string) => new Set(text.split(' '));
/** Words that tell an end of a window whatever stands beside them, English and Italian; those of comparisons (`start[gte]`) too. */
const FROM = words('from after since min minimum gte gt ge dal dopo da');
const TO = words('to until till before max maximum lte lt le al prima fino');
/** Words that tell one by themselves, and beside the others what is compared. */
const START = words('start starts starting begin begins beginning inizio');
const END = words('end ends ending finish fine');
/** Words of other times of a row than those of the appointment itself, and of other things than times. */
const OTHERS = words(
  'created updated modified changed inserted cancelled canceled deleted confirmed paid birth offset index row page limit size price amount age creato modificato aggiornato',
);
/** Joined words, as `datefrom` and `timemin` are written. */
const JOINED = /(date|time|data|ora|start|end|starts|ends|dal|al|from|to|after|before|min|max|since|until)/;

/** Reads a parameter's name; null where it speaks of no window. */
export function windowNameOf(name: string): WindowName | null {
  const parts = partsOf(name);
  if (parts.length === 0 || parts.some((part) => OTHERS.has(part))) return null;
  const has = (known: ReadonlySet<string>) => parts.some((part) => known.has(part));
  const [isFrom, isTo, isStart, isEnd] = [has(FROM), has(TO), has(START), has(END)];
  if (isFrom !== isTo) return { end: isFrom ? 'from' : 'to', isOfStart: isStart };
  if (isFrom || isStart === isEnd) return null;
  return { end: isStart ? 'from' : 'to', isOfStart: false };
}

/** `startsFrom`, `starts_from`, `starts[from]` and `startfrom` as `starts`, `from`. */
function partsOf(name: string): string[] {
  const spaced = name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2');
  const parts = spaced
    .split(/[^\p{L}\d]+/u)
    .map(folded)
    .filter((part) => part !== '');
  return parts.flatMap((part) => {
    const pieces = part.split(JOINED).filter((piece) => piece !== '');
    return pieces.every((piece) => JOINED.test(piece) && piece.match(JOINED)?.[0] === piece) ? pieces : [part];
  });
}
