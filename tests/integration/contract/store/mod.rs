//! The contract of `ports::store`.
//! Each test takes a fresh store of any engine; an adapter runs all tests with one macro call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod archive;
mod deletion;
mod entities;
mod erasure;
mod events;
mod given;
pub(crate) mod graph;
mod isolation;
mod jobs;
mod knowledge;
mod lists;
mod logins;
mod messages;
mod postgres;
mod sqlite;
mod usage;
mod vectors;
mod visits;

/// Runs the contract against the stores of a factory with `async fn store(&self) -> Option<Arc<dyn Store>>`.
/// The factory returns `None` where the engine is not available.
macro_rules! store_contract {
    ($factory:expr) => {
        $crate::contract::store::store_contract! { @tests $factory;
            isolation::nothing_of_another_user_is_seen_changed_or_counted,
            isolation::the_same_ids_may_exist_for_two_users,
            messages::what_is_stored_reads_back_the_same,
            messages::moments_beyond_the_calendar_are_taken,
            messages::an_external_id_stores_once,
            messages::duplicates_within_one_batch_store_once,
            messages::concurrent_duplicates_store_once,
            messages::an_unknown_session_stores_nothing,
            messages::numbers_have_no_holes_under_concurrent_appends,
            messages::the_feed_grows_in_order_and_hides_vectors_of_other_models,
            messages::the_feed_never_misses_a_row_under_concurrent_appends,
            messages::nearest_equals_brute_force,
            messages::context_before_a_message_is_oldest_first,
            messages::a_session_takes_its_title_once,
            jobs::jobs_of_a_lane_run_in_order_one_at_a_time,
            jobs::two_lanes_of_a_session_run_side_by_side,
            jobs::an_expired_lease_is_due_again_and_the_late_worker_is_fenced,
            jobs::a_retried_job_waits_and_keeps_its_place,
            jobs::a_released_job_loses_no_attempt,
            jobs::leases_that_nobody_works_on_are_given_back,
            jobs::a_buried_job_never_blocks,
            jobs::a_long_backlog_does_not_starve_another_session,
            jobs::users_take_turns_however_many_sessions_each_has,
            jobs::turns_pass_over_users_who_have_to_wait,
            jobs::concurrent_workers_never_hold_the_same_job,
            jobs::a_job_remembers_whose_it_is,
            jobs::an_answer_is_cancelled_wherever_it_has_got_to,
            events::numbers_have_no_holes_and_read_back,
            events::pruning_keeps_the_head_and_a_prefix_goes,
            events::pruning_by_age_and_in_bounded_steps,
            knowledge::a_plan_is_committed_whole_and_ends_its_job,
            knowledge::a_plan_from_an_older_version_is_refused,
            knowledge::of_two_concurrent_plans_one_is_stale,
            knowledge::a_refused_plan_leaves_nothing_behind,
            knowledge::evidence_counts_once,
            knowledge::a_zero_has_no_sign,
            knowledge::merging_moves_everything_and_old_ids_still_find,
            knowledge::facts_are_found_by_key_and_by_entity,
            knowledge::facts_as_of_a_moment,
            knowledge::filters_of_facts_and_entities,
            knowledge::any_text_reads_back_and_is_found,
            knowledge::names_of_any_length_are_kept_and_found,
            knowledge::an_answer_is_stored_with_its_events_once,
            knowledge::follow_up_work_is_queued_with_the_commit,
            entities::hints_find_the_most_mentioned_first,
            entities::mentions_keep_why_and_the_latest_of_a_session_comes_first,
            entities::a_merge_is_recorded_and_can_be_undone_once,
            usage::tokens_are_counted_by_day_and_by_message,
            lists::every_list_is_complete_in_pages_of_any_size,
            lists::rows_that_come_between_pages_neither_repeat_nor_hide_others,
            lists::a_foreign_cursor_is_refused,
            access::a_token_is_found_by_its_secret_until_it_expires_or_is_revoked,
            access::tokens_of_another_are_neither_shown_nor_revoked,
            access::a_revoked_token_stays_revoked_until_it_has_expired,
            logins::a_login_is_found_by_its_secret_until_it_ends,
            logins::a_login_is_renewed_by_one_at_a_time,
            logins::an_issuer_ends_the_logins_that_it_means_and_no_later_ones,
            visits::a_visit_is_found_by_its_secret_until_it_is_over,
            visits::a_visitor_stores_no_more_than_the_visit_has_left,
            visits::there_are_no_more_visits_than_may_be,
            visits::an_empty_visit_ends_sooner_until_something_is_said,
            visits::an_empty_visit_makes_room_for_a_newcomer_and_no_other_does,
            visits::an_account_without_anything_takes_a_visit_over_as_it_is,
            visits::an_account_takes_a_visit_over_beside_what_it_has,
            visits::a_visit_is_taken_over_once_and_nothing_written_meanwhile_is_lost,
            visits::what_is_not_settled_is_listed_until_it_is,
            visits::of_a_visitor_nothing_is_left_in_the_end,
            visits::a_graph_engine_is_told_what_came_and_what_went,
            deletion::a_deleted_session_leaves_nothing_behind,
            deletion::facts_with_evidence_elsewhere_are_weighed_anew,
            deletion::deleting_what_is_not_there_is_not_found,
            deletion::only_sessions_that_nobody_used_are_deleted_for_that,
            deletion::deletion_survives_concurrent_commits,
            deletion::a_hidden_session_is_as_if_it_did_not_exist,
            deletion::steps_of_any_size_leave_what_one_deletion_leaves,
            deletion::others_may_go_on_with_a_hidden_session_at_any_step,
            erasure::everything_of_a_user_goes_and_nothing_of_another,
            erasure::an_erasure_that_stopped_anywhere_is_gone_on_with_and_counts_once,
            erasure::nothing_new_is_taken_while_everything_is_deleted,
            erasure::who_writes_at_the_same_moment_leaves_nothing,
            erasure::receipts_and_the_last_usage_go_when_the_day_is_over,
            erasure::the_audit_log_is_everybodys_for_administrators_and_ones_own_for_others,
            archive::everything_leaves_one_store_and_enters_another_the_same,
            archive::what_is_imported_is_found_answered_and_worked_on,
            archive::a_truncated_archive_writes_nothing,
            archive::an_interrupted_import_keeps_its_user_from_writing_until_it_is_finished,
            archive::a_flipped_bit_is_never_imported,
            archive::an_archive_without_checksum_is_imported_and_told_of,
            archive::damaged_vectors_and_terms_are_repaired_by_the_next_import,
            archive::a_user_with_other_data_is_refused_and_left_alone,
            archive::records_that_do_not_fit_are_refused_by_their_line,
            archive::an_export_is_of_one_moment,
            archive::vectors_of_another_model_are_made_anew,
            archive::the_user_without_login_stays_that_user,
            vectors::the_first_message_says_by_which_model_a_user_is_searched,
            vectors::a_user_is_searched_by_the_old_vectors_until_the_new_ones_are_whole,
            vectors::a_new_message_is_near_by_both_models_during_a_change,
            vectors::a_message_that_came_meanwhile_keeps_new_vectors_from_use,
            vectors::one_worker_has_a_user_and_a_late_one_writes_nothing,
            vectors::the_model_that_was_wanted_last_counts,
            vectors::what_is_deleted_meanwhile_leaves_no_vector,
            feed::nothing_is_recorded_until_it_is_wanted_and_then_everything_is,
            feed::a_thing_is_listed_as_it_is_with_where_it_comes_from,
            feed::a_change_is_listed_once_under_its_latest_number,
            feed::what_goes_is_listed_as_gone,
            feed::a_merge_tells_of_all_that_it_moves,
            feed::users_are_kept_apart,
        }
    };
    (@tests $factory:expr; $($module:ident :: $test:ident),+ $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let factory = $factory;
            if let Some(store) = factory.store().await {
                $crate::contract::store::$module::$test(store).await;
            }
        }
    )+};
}
use graph::feed;
use store_contract;
