import { defineCommand } from 'citty';
export const demoCommand = defineCommand({ meta: { name: 'demo', description: 'Two sessions exchange a message in a temporary home' } });
