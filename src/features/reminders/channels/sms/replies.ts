/**
 * Replies of one word that stop all messages: Twilio's words, and words of other languages. `annulla`, `cancelar` and `annuler` are
 * excluded, because a patient may mean the appointment.
 * @see https://help.twilio.com/articles/223134027
 */
const LONE_WORDS = words(`
  stopall unsubscribe cancel end quit optout revoke disiscrivi disiscrivetemi cancellami smettila smettetela abbestellen aufhoren
  desabonner desinscrire arreter arretez baja parar pare parem uitschrijven stoppen`);
/** Words that mean stop, also next to polite words. */
const STOP_WORDS = words('stop basta stopp arret unsubscribe optout disiscrivimi abmelden afmelden');
/** Words that change no meaning: greetings, polite words, names of messages. */
const POLITE_WORDS = words(`
  please thanks thank you ok hello hi now this these the per favore piacere cortesia grazie ciao salve buongiorno vi prego la
  bitte danke hallo merci bonjour svp s il te vous plait por favor gracias hola obrigado obrigada ola
  alsjeblieft alstublieft aub bedankt dank je u`);
const MESSAGE_WORDS = words(`
  sms smsjes text texts texting message messages messaging reminder reminders messaggi messaggio promemoria nachrichten erinnerungen
  rappels mensajes recordatorios mensagens lembretes berichten berichtjes herinneringen`);
const MESSAGES = `(?:text )?(?:${[...MESSAGE_WORDS].join('|')})`;

/** Whole clauses that stop all messages, without accents and polite words: in en, it, de, fr, es, pt, nl. */
const STOP_CLAUSES: readonly RegExp[] = [
  `(?:i want to |i would like to |can |could )?(?:do not|don t|dont|never) (?:text|message|contact|write|write to|send|remind)(?: me)?(?: any)?(?: more)?(?: ${MESSAGES})?(?: again| any ?more)?`,
  `(?:stop|quit) (?:texting|messaging|contacting|writing|writing to|sending|reminding)(?: me)?(?: any| more)*(?: ${MESSAGES})?`,
  `no more ${MESSAGES}`,
  '(?:unsubscribe|remove|take) me(?: (?:from|off)(?: your)?(?: list)?)?',
  '(?:i (?:want|wish|would like) to )?(?:unsubscribe|opt out|opt me out)',
  `i (?:do not|don t|dont) (?:want|wish)(?: to (?:get|receive))?(?: any| more| your)* ${MESSAGES}(?: any ?more)?`,
  `non (?:mi )?(?:scriv(?:ere|ete|i|a|ano)|mand(?:are|ate|i|a|ino)|invi(?:are|ate|i|a|ino)?|contatt(?:are|ate|i|a|ino))(?: piu| mai piu)?(?: altri)?(?: ${MESSAGES}| niente| nulla)?(?: a questo numero)?`,
  `non (?:scriv(?:ete|er|i)|mand(?:ate|ar|a)|invi(?:ate|ar|a)|contatt(?:ate|ar|a))mi(?: piu| mai piu)?(?: altri)?(?: ${MESSAGES}| niente| nulla)?(?: a questo numero)?`,
  `non (?:voglio|vorrei|desidero)(?: piu)?(?: ricevere)?(?: piu)?(?: altri| vostri| i vostri)? ${MESSAGES}`,
  `(?:basta|niente) (?:con )?(?:piu )?(?:i |questi )?${MESSAGES}`,
  '(?:smett(?:ete|ila|etela|i)|smettere) di (?:scriver|mandar|inviar|contattar)mi(?: messaggi| sms)?',
  `(?:schreib(?:en|t|e)?|send(?:en|et|e)|schick(?:en|t|e)?|kontaktier(?:en|t|e))(?: sie)?(?: mir| mich)?(?: keine| nicht)(?: mehr| weiteren)?(?: ${MESSAGES})?(?: mehr)?`,
  `keine (?:weiteren )?${MESSAGES}(?: mehr)?`,
  'nicht mehr (?:schreiben|senden|schicken|kontaktieren)',
  `ich (?:will|mochte|wunsche) keine (?:weiteren )?${MESSAGES}(?: mehr)?(?: erhalten| bekommen| haben)?`,
  `(?:ne )?m (?:envoyez|envoie|ecrivez|ecris) plus(?: (?:de|d|jamais|aucun))*(?: ${MESSAGES})?`,
  '(?:ne )?me contacte(?:z|r)? plus',
  `plus de ${MESSAGES}`,
  `(?:je )?(?:ne )?(?:veux|souhaite) plus (?:recevoir )?(?:de |vos |ces |d )?${MESSAGES}`,
  `arrete[zr]?(?: de m ecrire| de m envoyer(?: des| vos)? ${MESSAGES}| les ${MESSAGES}| vos ${MESSAGES})`,
  '(?:me )?(?:desabonner|desinscrire)|(?:desabonnez|desinscrivez) moi',
  `no me (?:escrib(?:a|an|as|ais)|envi(?:e|en|es|eis)|mand(?:e|en|es|eis)|contact(?:e|en|es|eis))(?: nunca)?(?: mas)?(?: ${MESSAGES})?(?: mas)?`,
  `no (?:quiero|deseo)(?: recibir)?(?: mas)? ${MESSAGES}(?: mas)?`,
  `no mas ${MESSAGES}`,
  '(?:darme|dame|deme|denme|quiero darme) de baja',
  `nao (?:me )?(?:escrev(?:a|am)|envi(?:e|em)|mand(?:e|em)|conta?c?t(?:e|em))(?: me)?(?: mais)?(?: ${MESSAGES})?(?: mais)?`,
  `nao quero(?: mais)?(?: receber)?(?: mais)? ${MESSAGES}(?: mais)?`,
  `(?:stuur|schrijf|sms|app|contacteer|bericht) (?:me|mij) (?:geen|niet)(?: meer)?(?: ${MESSAGES})?(?: meer)?`,
  `(?:ik wil )?geen ${MESSAGES}(?: meer)?(?: ontvangen| krijgen)?`,
  '(?:schrijf|meld) (?:me|mij) (?:uit|af)|niet meer (?:sturen|schrijven)',
].map((clause) => new RegExp(`^(?:${clause})$`));

/**
 * Returns what a reply asks. A word that means stop counts alone or next to polite words; a clause counts whole. So "I can't stop by" and
 * `Non posso venire` are no opt-outs, and go to the clinic. `says`: the reply has other content, which the
 * clinic must read.
 */
export function meaningOfReply(text: string): { asks: 'stop' | 'start' | null; says: boolean } {
  const clauses = text
    .split(/[.,;:!?\n()]+/)
    .map(plainWords)
    .filter((words) => words.length > 0);
  const all = clauses.flat();
  const whole = all.join('');
  if (whole === 'start' || whole === 'unstop') return { asks: 'start', says: false };
  const isPolite = (word: string) => POLITE_WORDS.has(word) || MESSAGE_WORDS.has(word);
  const stopsAlone =
    all.some((word) => STOP_WORDS.has(word)) && all.every((word) => STOP_WORDS.has(word) || isPolite(word));
  if (stopsAlone || STOP_WORDS.has(whole) || LONE_WORDS.has(whole)) return { asks: 'stop', says: false };
  const rest = clauses.filter((words) => !isStopClause(words));
  const asks = rest.length < clauses.length ? 'stop' : null;
  return { asks, says: asks === null ? text.trim() !== '' : rest.flat().some((word) => !isPolite(word)) };
}

function isStopClause(words: readonly string[]): boolean {
  const shortened = words.filter((word) => !POLITE_WORDS.has(word) || word === 'je').join(' ');
  return STOP_CLAUSES.some((clause) => clause.test(words.join(' ')) || clause.test(shortened));
}

/** Returns the words in lower case, without accents. */
function plainWords(clause: string): string[] {
  const letters = clause.toLowerCase().replaceAll('ß', 'ss').normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return letters.match(/\p{L}+/gu) ?? [];
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}
