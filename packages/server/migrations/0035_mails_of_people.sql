CREATE TABLE "person_mails" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "person_mails_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" text NOT NULL,
	"kind" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "person_mails" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "person_mails" ADD CONSTRAINT "person_mails_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "person_mails_by_person" ON "person_mails" USING btree ("user_id","kind","expires_at");--> statement-breakpoint
CREATE INDEX "person_mails_by_expiry" ON "person_mails" USING btree ("expires_at");--> statement-breakpoint
CREATE POLICY "system" ON "person_mails" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "person_mails" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING (exists (select 1 from memberships where memberships.user_id = "person_mails"."user_id")) WITH CHECK (exists (select 1 from memberships where memberships.user_id = "person_mails"."user_id"));