import { describe, expect, test } from 'vitest';
import { meaningOfReply } from '../../../../../src/features/reminders/channels/sms/replies.ts';

const STOP = { asks: 'stop', says: false };
const READ = { asks: null, says: true };

describe('a reply', () => {
  test.each([
    ['STOP', 'Stop.', 's t o p', 'please stop', 'Stop, thank you!', 'STOP SMS', 'Opt-out'],
    [
      "don't text me",
      'Please do not contact me anymore',
      'stop texting me',
      'No more messages please',
      'Unsubscribe me',
    ],
    ["I don't want to receive any more messages", 'Remove me from your list'],
    ['basta', 'Basta, grazie', 'basta sms', 'per favore non scrivetemi più', 'Non mandatemi più messaggi'],
    ['Non mi scriva più a questo numero', 'non voglio più ricevere SMS', 'Buongiorno, non contattatemi più. Grazie'],
    ['Smettetela di scrivermi', 'NON SCRIVERMI PIU’', 'Cancellami!', 'disiscrivetemi'],
    ['Bitte schreiben Sie mir nicht mehr', 'Keine Nachrichten mehr', 'Aufhören!', 'bitte abmelden'],
    ['Ich möchte keine SMS mehr erhalten', 'Schicken Sie mir keine Nachrichten mehr bitte'],
    ["Ne m'écrivez plus", 'Arrêtez', "S'il vous plaît, ne me contactez plus", 'plus de messages svp'],
    ['Je ne veux plus recevoir de SMS', 'Désabonnez-moi', 'arrêtez de m’envoyer des messages'],
    ['No me escriban más', 'no quiero recibir más mensajes', 'por favor no me envíen más mensajes', 'BAJA'],
    ['Não me mandem mais mensagens', 'por favor não me contacte mais', 'Não quero mais receber mensagens', 'parar'],
    ['Stuur me geen berichten meer', 'Geen sms meer aub', 'Uitschrijven', 'schrijf me uit alsjeblieft'],
  ])('that asks to stop is an opt-out: %s …', (...texts) => {
    for (const text of texts) expect([text, meaningOfReply(text)]).toEqual([text, STOP]);
  });

  test.each([
    "I can't stop by tomorrow",
    'I will stop by at 5',
    'Non posso venire domani',
    'Basta che sia dopo le 15',
    'Non posso, mi fermo a stop',
    'Annulla',
    'Please cancel my appointment',
    'Al the end of the street?',
    'Non mi ha scritto nessuno',
    'Non ho ricevuto messaggi dal medico',
    "Don't send the invoice by mail",
    'Non mandatemi la fattura per posta',
    'Ich kann morgen nicht kommen',
    'Je ne peux plus venir',
    'No puedo ir mañana',
    'Ik kom niet meer',
    'Parar a quimioterapia?',
    'Ok, grazie',
    '🛑',
  ])('%j is for the clinic', (text) => expect(meaningOfReply(text)).toEqual(READ));

  test('that asks to stop and says more is both', () => {
    expect(meaningOfReply('Non vengo domani. Non scrivetemi più')).toEqual({ asks: 'stop', says: true });
  });

  test('without content says nothing', () => expect(meaningOfReply(' \n')).toEqual({ asks: null, says: false }));

  test('of START takes an opt-out back', () =>
    expect(meaningOfReply('Start!')).toEqual({ asks: 'start', says: false }));
});
