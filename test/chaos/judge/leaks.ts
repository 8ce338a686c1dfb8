/** A place that may not contain patient data in plain text. */
export interface Place {
  name: string;
  text: string;
}

/** Forms in which a text could stand within another. */
function formsOf(text: string): string[] {
  return [text, encodeURIComponent(text), Buffer.from(text).toString('hex')];
}

/** Returns the planted texts found in the places, ignoring case. */
export function leaksIn(places: readonly Place[], planted: readonly string[]): { place: string; text: string }[] {
  return places.flatMap(({ name, text }) => {
    const small = text.toLowerCase();
    const isThere = (one: string) => formsOf(one).some((form) => small.includes(form.toLowerCase()));
    return planted.filter(isThere).map((one) => ({ place: name, text: one }));
  });
}
