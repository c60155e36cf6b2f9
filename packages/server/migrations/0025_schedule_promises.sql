ALTER TABLE "schedules" ADD COLUMN "promised_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "schedules" ADD COLUMN "drills_since" timestamp (3) with time zone;